#pragma once
#include <filesystem>
#include <optional>

#include "core/units.h"

namespace sweetspot::probe::proc {

// What this process holds in memory now.
std::optional<core::Bytes> own_memory(const std::filesystem::path& root = "/");

}  // namespace sweetspot::probe::proc
