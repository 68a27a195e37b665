#pragma once
#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace sweetspot::workload::command::process {

// Of the clock that only goes forward, and that a program's own stamps are of.
inline double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

using core::Descriptor;

// Takes what a system call gave. Descriptors 0 to 2 are moved up, because a child's standard
// streams go there (we may have been started with ours closed). MachineError when the call failed.
Descriptor checked(int number, const char* what);

struct Pair {
  Descriptor read, write;
};
Pair make_pipe();
Pair make_sockets();  // of whole messages; either end reads and writes
Descriptor open_null();

// The kernel's small files, with plain system calls: some are read ten times a second. What is
// missing or makes no sense is nothing, never an error.
std::optional<std::string> read_file(const std::string& path);
std::optional<std::uint64_t> read_number(const std::string& path);
// The number behind `key` in lines of "key value" or "key: value kB".
std::optional<std::uint64_t> field(const std::string& text, const std::string& key);
std::vector<pid_t> numbers(const std::string& text);
std::vector<std::string> entries(const std::string& folder);
bool write_file(const std::string& path, const std::string& text);

}  // namespace sweetspot::workload::command::process
