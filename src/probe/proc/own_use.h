#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/units.h"

namespace sweetspot::probe::proc {

// What this process holds in memory now.
std::optional<core::Bytes> own_memory(const std::filesystem::path& root = "/");

// CPU time in the kernel's ticks of this process and of all that it has started, the dead included
// once they were waited for. Where the kernel does not list children, of this process alone.
std::optional<std::uint64_t> own_time(const std::filesystem::path& root);

// From now on the time of this process, which started ours, counts as our own: it is what trains.
void count_as_own(pid_t caller);

}  // namespace sweetspot::probe::proc
