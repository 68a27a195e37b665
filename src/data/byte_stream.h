#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/units.h"

namespace sweetspot::data {

// A file's bytes: those of a raw one unchanged, those of a gzip one inflated.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `out` as far as possible and returns how many; less than requested only at the end.
  virtual std::size_t read(std::span<std::uint8_t> out) = 0;
  // A lower bound of the bytes left, which may be reserved at once.
  virtual core::Bytes known_left() const { return 0; }
};

// Detects gzip by the first two bytes. Inflating rejects corrupt data and expansion that no image
// set reaches (a gzip bomb), with an InputError that names the file.
std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& file);

}  // namespace sweetspot::data
