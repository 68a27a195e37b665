#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sweetspot::probe::proc {

// The memory of this process now.
std::optional<core::Bytes> own_memory(const std::filesystem::path& root = "/");

// The numbers of this process, or the one below, and of everything they have started; "self" for
// this process. If the kernel does not list children, of the first one alone.
std::vector<std::string> own_processes(const std::filesystem::path& root = "/");

// CPU time in the kernel's ticks of this process and everything it has started, including dead ones
// that were waited for.
std::optional<std::uint64_t> own_time(const std::filesystem::path& root);

// From now on this process, which started ours, and what else it started count as our own: it does
// the training, or ranks that train with us.
void count_as_own(pid_t caller);
bool counts_caller_as_own();

}  // namespace sweetspot::probe::proc
