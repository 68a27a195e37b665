#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace sweetspot::probe::proc {

// CPU time in the kernel's ticks of this process and of all that it has started, the dead included
// once they were waited for. Where the kernel does not list children, of this process alone.
std::optional<std::uint64_t> own_time(const std::filesystem::path& root);

}  // namespace sweetspot::probe::proc
