#include "report/exports/tensorboard/wire.h"

#include <bit>

namespace sweetspot::report::tensorboard {
namespace {

enum : int { type_varint = 0, type_64_bits = 1, type_length = 2, type_32_bits = 5 };

}  // namespace

void Message::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void Message::key(int field, int type) { varint(static_cast<std::uint64_t>(field << 3 | type)); }

Message& Message::whole(int field, std::int64_t value) {
  key(field, type_varint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

Message& Message::number(int field, double value) {
  key(field, type_64_bits);
  bytes_ += little_endian(std::bit_cast<std::uint64_t>(value));
  return *this;
}

Message& Message::single(int field, float value) {
  key(field, type_32_bits);
  bytes_ += little_endian(std::bit_cast<std::uint32_t>(value));
  return *this;
}

Message& Message::text(int field, std::string_view value) {
  key(field, type_length);
  varint(value.size());
  bytes_ += value;
  return *this;
}

}  // namespace sweetspot::report::tensorboard
