#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "core/units.h"

namespace sweetspot::data {

// Bytes one after the other: those of a raw file as they are, those of a gzip file inflated.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `out` as far as there are bytes and says how many; less than asked only at the end.
  virtual std::size_t read(std::span<std::uint8_t> out) = 0;
  // How many bytes are known to be left: what may be reserved for them in one go.
  virtual core::Bytes known_left() const { return 0; }
};

// Both tell gzip from raw by the first two bytes. Inflating refuses, as InputError naming the
// source, corrupt data and expansion that no image set reaches (a gzip bomb).
std::unique_ptr<ByteStream> open_stream(std::span<const std::uint8_t> bytes,  // outlive the stream
                                        std::string_view source);
std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& file);

}  // namespace sweetspot::data
