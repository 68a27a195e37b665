#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/units.h"

namespace sweetspot::probe::proc {

// The memory of this process now.
std::optional<core::Bytes> own_memory(const std::filesystem::path& root = "/");

// CPU time in the kernel's ticks of this process and everything it has started, including dead ones
// that were waited for. If the kernel does not list children, of this process alone.
std::optional<std::uint64_t> own_time(const std::filesystem::path& root);

// From now on the CPU time of this process, which started ours, counts as our own: it does the
// training.
void count_as_own(pid_t caller);

}  // namespace sweetspot::probe::proc
