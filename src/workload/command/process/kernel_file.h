#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sweetspot::workload::command::process {

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
