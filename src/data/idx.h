#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace sweetspot::data {

// The content of an IDX file of unsigned bytes: its dimensions, outermost first, and its values.
struct Idx {
  std::vector<std::int64_t> shape;  // 1 to 4 dimensions, none of them 0
  std::vector<std::uint8_t> bytes;
};

// Reads IDX, raw or gzip. Whatever the header claims, it allocates no more than a small multiple of
// the actual bytes. InputError names the file and the problem; MachineError if the machine has no
// memory for it.
Idx read_idx(const std::filesystem::path& path);

}  // namespace sweetspot::data
