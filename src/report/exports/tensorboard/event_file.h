#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace sweetspot::report::tensorboard {

// CRC-32C (Castagnoli), as iSCSI and TFRecord use it: "123456789" gives 0xe3069283.
std::uint32_t crc32c(std::string_view bytes);

template <std::unsigned_integral Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i)
    bytes += static_cast<char>((number >> (8 * i)) & 0xff);
  return bytes;
}

// A message in protobuf's wire format, field by field. The few messages of an event file are not
// worth a dependency.
class Message {
 public:
  Message& whole(int field, std::int64_t value);  // int32, int64 and enums, not below zero
  Message& number(int field, double value);
  Message& single(int field, float value);
  Message& text(int field, std::string_view value);  // string and bytes
  Message& message(int field, const Message& value) { return text(field, value.bytes()); }

  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  void key(int field, int type);
  std::string bytes_;
};

// One TFRecord: the length and its checksum, the bytes and theirs.
std::string record(std::string_view bytes);

// The bytes of one event file: each event is a record, the first has the format version.
class Events {
 public:
  explicit Events(double at_unix_seconds);

  void scalar(const std::string& tag, std::int64_t step, double value, double at_unix_seconds);
  // A TensorBoard plugin's own data under this tag.
  void plugin(const std::string& tag, const std::string& plugin, const Message& content,
              double at_unix_seconds);

  const std::string& bytes() const { return bytes_; }

 private:
  void add(const Message& value, std::int64_t step, double at_unix_seconds);
  std::string bytes_;
};

}  // namespace sweetspot::report::tensorboard
