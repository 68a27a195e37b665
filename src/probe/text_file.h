#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sweetspot::probe {

// The kernel's small text files. All readings take the root they are under, so that tests can pass
// a fake tree; a missing or malformed file is an unknown reading, never an error.
std::optional<std::string> read_text(const std::filesystem::path& file);
std::optional<std::uint64_t> read_number(const std::filesystem::path& file);
// The number after `key` in a file of "key value" or "key: value kB" lines.
std::optional<std::uint64_t> read_field(const std::filesystem::path& file, const std::string& key);

}  // namespace sweetspot::probe
