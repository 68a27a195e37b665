#include "report/tensorboard_reader.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sweetspot::tests {
namespace {

template <class Number>
Number loaded(const std::string& bytes) {
  Number number{};
  EXPECT_EQ(bytes.size(), sizeof number);
  std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
  return number;
}

// CRC-32C bit by bit, the highest first, over bytes with their bits reversed: another way than the
// writer's table.
std::uint32_t reversed(std::uint32_t value, int bits) {
  std::uint32_t result = 0;
  for (int bit = 0; bit < bits; ++bit) result |= ((value >> bit) & 1) << (bits - 1 - bit);
  return result;
}
std::uint32_t masked_crc(const std::string& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= reversed(static_cast<unsigned char>(c), 8) << 24;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 0x80000000 ? (crc << 1) ^ 0x1edc6f41 : crc << 1;
  }
  crc = ~reversed(crc, 32);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::vector<std::string> records(const std::string& file) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < file.size();) {
    const std::string length = file.substr(at, 8);
    const auto size = loaded<std::uint64_t>(length);
    if (size > file.size() - at) {
      ADD_FAILURE() << "a record is longer than its file";
      break;
    }
    EXPECT_EQ(loaded<std::uint32_t>(file.substr(at + 8, 4)), masked_crc(length));
    const std::string bytes = file.substr(at + 12, size);
    EXPECT_EQ(loaded<std::uint32_t>(file.substr(at + 12 + size, 4)), masked_crc(bytes));
    found.push_back(bytes);
    at += 16 + size;
  }
  return found;
}

std::uint64_t take_varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  ADD_FAILURE() << "a number does not end";
  return value;
}

}  // namespace

Fields::Fields(const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t key = take_varint(bytes, at);
    const std::size_t start = at;
    std::size_t size = 0, skipped = 0;
    switch (key & 7) {
      case 0:
        take_varint(bytes, at);
        size = at - start;
        break;
      case 1:
        size = 8;
        break;
      case 2:
        size = take_varint(bytes, at);
        skipped = at - start;
        break;
      case 5:
        size = 4;
        break;
      default:
        ADD_FAILURE() << "no such wire type";
        return;
    }
    fields_[static_cast<int>(key >> 3)].push_back(bytes.substr(start + skipped, size));
    at = start + skipped + size;
    EXPECT_LE(at, bytes.size());
  }
}

std::uint64_t Fields::whole(int field) const {
  std::size_t at = 0;
  return take_varint(text(field), at);
}
double Fields::number(int field) const { return loaded<double>(text(field)); }
float Fields::single(int field) const { return loaded<float>(text(field)); }

ReadEvents read_events(const std::string& file) {
  ReadEvents read;
  for (const std::string& bytes : records(file)) {
    const Fields event(bytes);
    if (event.has(3)) read.version = event.text(3);
    if (!event.has(5)) continue;
    const Fields summary(event.message(5)), value(summary.message(1));
    if (value.has(9)) {
      const Fields metadata(value.message(9)), plugin(metadata.message(1));
      EXPECT_EQ(plugin.text(1), "hparams");
      read.hparams.emplace(value.text(1), plugin.message(2));
    } else {
      const auto step = event.has(2) ? static_cast<std::int64_t>(event.whole(2)) : 0;
      read.scalars.push_back({value.text(1), step, value.single(2), event.number(1)});
    }
  }
  return read;
}

}  // namespace sweetspot::tests
