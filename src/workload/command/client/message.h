#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "convergence/noise_scale.h"
#include "core/units.h"
#include "trial/trial.h"

namespace sweetspot::workload::command::client {

constexpr std::size_t longest_line = 64 * 1024;  // including its newline

// Splits a stream into lines. Too long ones are skipped and counted, never kept.
class Lines {
 public:
  std::vector<std::string> feed(std::string_view bytes);
  void end();  // of the stream: a partial line counts as bad
  std::int64_t bad() const { return bad_; }

 private:
  std::string begun_;
  bool skipping_ = false;
  std::int64_t bad_ = 0;
};

// The client's messages, see docs/protocol.md.

struct Hello {
  std::string client;  // printable and short
  bool session = false;
};
struct Begin {
  double at_seconds = 0;
};
struct StepEnd {
  double at_seconds = 0;
  std::optional<std::int64_t> samples;
  std::int64_t updates = 1, dropped = 0;
  std::optional<double> data_wait_seconds;
  std::optional<double> loss;
};
struct DeviceMemory {
  core::Bytes peak = 0;
  std::optional<core::Bytes> allocated;  // the tensors' part of the peak; the rest is cache
  std::optional<core::Bytes> capacity;   // available to the program on the device
  std::string device, how;               // printable and short
};
// The number of batches per epoch of the program's data.
struct Epoch {
  std::int64_t batches = 0;
};
// The program's result on its test data.
struct Metric {
  std::optional<double> accuracy, loss;
};
// The setting has failed without a measurement, and the process continues.
struct Failed {
  trial::Outcome outcome = trial::Outcome::crashed;
  std::string reason;    // printable
  core::Bytes kept = 0;  // device memory that was not released
};
struct Ready {};
struct Unknown {};  // to be ignored

// Squared gradient norms are sent as convergence::GradientNorms.
using Message = std::variant<Hello, Begin, StepEnd, DeviceMemory, Epoch, Metric,
                             convergence::GradientNorms, Failed, Ready, Unknown>;

// nullopt for a bad line: not a JSON object, or a known type with an invalid value.
std::optional<Message> parse(std::string_view line);

// A line to a session, including its newline.
std::string setting_line(const trial::Setting& setting);
std::string enough_line();
std::string done_line();

}  // namespace sweetspot::workload::command::client
