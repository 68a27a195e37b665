#pragma once
#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace sweetspot::workload::command::process {

// By the monotonic clock, which a program's own timestamps also use.
inline double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

using core::Descriptor;

// Takes the result of a system call. Descriptors 0 to 2 are moved up, because a child's standard
// streams go there (ours may have been closed at start). MachineError if the call failed.
Descriptor checked(int number, const char* what);

struct Pair {
  Descriptor read, write;
};
Pair make_pipe();
Pair make_sockets();  // message-based; either end reads and writes
Descriptor open_null();

// Until one is readable, a signal interrupts, or this long.
void wait_for_input(const std::vector<int>& numbers, double seconds);

// The kernel's small files, with plain system calls: some are read ten times a second. Missing or
// malformed files are nullopt, never an error.
std::optional<std::string> read_file(const std::string& path);
std::optional<std::uint64_t> read_number(const std::string& path);
// The number after `key` in lines of "key value" or "key: value kB".
std::optional<std::uint64_t> field(const std::string& text, const std::string& key);
std::vector<pid_t> numbers(const std::string& text);
std::vector<std::string> entries(const std::string& folder);
bool write_file(const std::string& path, const std::string& text);

}  // namespace sweetspot::workload::command::process
