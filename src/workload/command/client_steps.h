#pragma once
#include <cstdint>
#include <deque>
#include <optional>

#include "trial/trial.h"
#include "workload/command/client/message.h"
#include "workload/command/step_counter.h"

namespace sweetspot::workload::command::client {

// Converts a client's times into steps. Pure: `now` is the time of the same clock at which the line
// was read, and `since` the earliest possible time, the program's start.
class Steps {
 public:
  Steps(std::int64_t batch, double since) : batch_(batch), last_(since) {}

  void begin(const Begin& begin, double now);
  void step(const StepEnd& step, double now);

  std::optional<trial::Step> take();
  std::size_t waiting() const { return steps_.size(); }
  std::optional<double> first_mark() const { return first_mark_; }  // where the start-up ended
  std::int64_t bad() const { return bad_; }
  // The samples of most steps, if the client counts them.
  std::optional<std::int64_t> samples_per_step() const { return stride_.of_most_steps(); }

 private:
  bool accept(double at, double now);
  void mark(double at);

  std::int64_t batch_;
  double last_;                 // of all lines
  std::optional<double> mark_;  // where the next step starts; nullopt after a gap
  std::optional<double> first_mark_;
  std::int64_t dropped_ = 0, bad_ = 0;
  SampleStride stride_;
  std::deque<trial::Step> steps_;
};

}  // namespace sweetspot::workload::command::client
