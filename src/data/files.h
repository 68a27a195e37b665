#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/units.h"

namespace sweetspot::data {

// The whole file. InputError when it cannot be read or is larger than `limit`.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path, core::Bytes limit);

// SHA-256 in lower-case hexadecimal. InputError when the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

// Makes a file's content, or a folder's names, survive a power cut. MachineError on failure.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace sweetspot::data
