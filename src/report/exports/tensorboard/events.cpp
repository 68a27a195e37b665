#include "report/exports/tensorboard/events.h"

#include "report/exports/tensorboard/record.h"

namespace sweetspot::report::tensorboard {
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
