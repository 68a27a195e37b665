#include "report/exports/tensorboard/record.h"

#include "report/exports/tensorboard/crc32c.h"
#include "report/exports/tensorboard/wire.h"

namespace sweetspot::report::tensorboard {
namespace {

// The format masks its checksums, so that one of bytes that hold a checksum stays a good one.
std::string masked_checksum(std::string_view bytes) {
  constexpr std::uint32_t delta = 0xa282ead8;
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(((crc >> 15) | (crc << 17)) + delta);
}

}  // namespace

std::string record(std::string_view bytes) {
  const std::string length = little_endian(static_cast<std::uint64_t>(bytes.size()));
  std::string framed = length + masked_checksum(length);
  framed += bytes;
  return framed + masked_checksum(bytes);
}

}  // namespace sweetspot::report::tensorboard
