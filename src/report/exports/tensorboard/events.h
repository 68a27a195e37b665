#pragma once
#include <cstdint>
#include <string>

#include "report/exports/tensorboard/wire.h"

namespace sweetspot::report::tensorboard {

// The bytes of one event file: each event a record, the first the version of the format.
class Events {
 public:
  explicit Events(double at_unix_seconds);

  void scalar(const std::string& tag, std::int64_t step, double value, double at_unix_seconds);
  // What a plugin of TensorBoard keeps for itself under this tag.
  void plugin(const std::string& tag, const std::string& plugin, const Message& content,
              double at_unix_seconds);

  const std::string& bytes() const { return bytes_; }

 private:
  void add(const Message& value, std::int64_t step, double at_unix_seconds);
  std::string bytes_;
};

}  // namespace sweetspot::report::tensorboard
