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

constexpr std::size_t longest_line = 64 * 1024;  // with its newline

// Cuts a stream into lines. What is too long is skipped and counted, and never kept.
class Lines {
 public:
  std::vector<std::string> feed(std::string_view bytes);
  void end();  // of the stream: half a line counts as bad
  std::int64_t bad() const { return bad_; }

 private:
  std::string begun_;
  bool skipping_ = false;
  std::int64_t bad_ = 0;
};

// What a client says, see docs/protocol.md.

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
  std::optional<core::Bytes> allocated;  // of the peak, what tensors took: the rest is the cache's
  std::optional<core::Bytes> capacity;   // what the program may take of the device
  std::string device, how;               // printable and short
};
// So many batches make an epoch of the program's data.
struct Epoch {
  std::int64_t batches = 0;
};
// What the program found on its test data.
struct Metric {
  std::optional<double> accuracy, loss;
};
// The setting has come to its end without a measurement, and the process goes on.
struct Failed {
  trial::Outcome outcome = trial::Outcome::crashed;
  std::string reason;    // printable
  core::Bytes kept = 0;  // of the device's memory, that did not come back
};
struct Ready {};
struct Unknown {};  // to be ignored

// Squared norms of gradients are said as convergence::GradientNorms.
using Message = std::variant<Hello, Begin, StepEnd, DeviceMemory, Epoch, Metric,
                             convergence::GradientNorms, Failed, Ready, Unknown>;

// Nothing for a bad line: no JSON object, or a known type with a value that cannot be.
std::optional<Message> parse(std::string_view line);

// What is said to a session, with its newline.
std::string setting_line(const trial::Setting& setting);
std::string enough_line();
std::string done_line();

}  // namespace sweetspot::workload::command::client
