#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace sweetspot::data {

// Bytes one after the other: those of a raw file as they are, those of a gzip file inflated.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `out` as far as there are bytes and says how many; less than asked only at the end.
  virtual std::size_t read(std::span<std::uint8_t> out) = 0;
};

// Over memory that outlives it, by the first two bytes gzip or raw. Inflating refuses, as
// InputError naming `source`, corrupt data and expansion that no image set reaches (a gzip bomb).
std::unique_ptr<ByteStream> open_stream(std::span<const std::uint8_t> bytes,
                                        std::string_view source);

}  // namespace sweetspot::data
