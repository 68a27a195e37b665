#include "report/exports/tensorboard/event_file.h"

#include <bit>
#include <boost/crc.hpp>

namespace sweetspot::report::tensorboard {

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1edc6f41, ~0u, ~0u, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

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

namespace {

// The format masks its checksums, so that a checksum of bytes that contain one stays good.
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

namespace {

// Fields of TensorFlow's event.proto and summary.proto.
namespace event {
enum : int { wall_time = 1, step = 2, file_version = 3, summary = 5 };
}
namespace summary {
enum : int { value = 1 };
}
namespace value {
enum : int { tag = 1, simple_value = 2, metadata = 9 };
}
namespace metadata {
enum : int { plugin_data = 1 };
}
namespace plugin_data {
enum : int { plugin_name = 1, content = 2 };
}

}  // namespace

Events::Events(double at_unix_seconds)
    : bytes_(record(Message()
                        .number(event::wall_time, at_unix_seconds)
                        .text(event::file_version, "brain.Event:2")
                        .bytes())) {}

void Events::scalar(const std::string& tag, std::int64_t step, double value,
                    double at_unix_seconds) {
  add(Message().text(value::tag, tag).single(value::simple_value, static_cast<float>(value)), step,
      at_unix_seconds);
}

void Events::plugin(const std::string& tag, const std::string& plugin, const Message& content,
                    double at_unix_seconds) {
  const Message data =
      Message().text(plugin_data::plugin_name, plugin).message(plugin_data::content, content);
  add(Message()
          .text(value::tag, tag)
          .message(value::metadata, Message().message(metadata::plugin_data, data)),
      0, at_unix_seconds);
}

void Events::add(const Message& value, std::int64_t step, double at_unix_seconds) {
  Message made;
  made.number(event::wall_time, at_unix_seconds);
  if (step != 0) made.whole(event::step, step);
  made.message(event::summary, Message().message(summary::value, value));
  bytes_ += record(made.bytes());
}

}  // namespace sweetspot::report::tensorboard
