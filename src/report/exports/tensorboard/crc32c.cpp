#include "report/exports/tensorboard/crc32c.h"

#include <array>

namespace sweetspot::report::tensorboard {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // its bits reversed

constexpr std::array<std::uint32_t, 256> table = [] {
  std::array<std::uint32_t, 256> made{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? polynomial : 0);
    made[byte] = rest;
  }
  return made;
}();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t rest = ~0u;
  for (const char c : bytes)
    rest = table[(rest ^ static_cast<unsigned char>(c)) & 0xff] ^ (rest >> 8);
  return ~rest;
}

}  // namespace sweetspot::report::tensorboard
