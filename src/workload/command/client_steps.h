#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convergence/noise_scale.h"
#include "workload/command/client/message.h"
#include "workload/command/output/loss.h"
#include "workload/command/step_counter.h"
#include "workload/command/step_source.h"

namespace sweetspot::workload::command {

// What the program's client reports while one setting is run. Pure: `now` is the time of the same
// clock at which the message was read, and `since` the earliest possible time, the program's start.
class ClientSteps final : public StepSource {
 public:
  // `ranks`: processes that train together, of which a client may count only its own samples.
  ClientSteps(std::int64_t batch, double since, int ranks = 1)
      : batch_(batch), ranks_(ranks), last_(since), last_sign_at_(since) {}

  void hear(const client::Message& message, double now);
  void begin_setting(std::int64_t batch, double since);  // of the same client

  std::optional<double> first_mark() const override { return first_mark_; }
  void tell(trial::SessionReport& report) const override;

  double last_sign_at() const { return last_sign_at_; }  // of a step
  std::int64_t bad() const { return bad_; }
  std::vector<trial::Loss> losses() const { return losses_.losses(); }
  std::optional<core::Interval> noise_scale() const;  // in samples
  // The largest peaks, and the smallest capacity.
  const std::optional<client::DeviceMemory>& device_memory() const { return device_memory_; }
  const std::optional<client::Failed>& failed() const { return failed_; }

 private:
  void add(const client::StepEnd& step, double now);
  void add(const client::DeviceMemory& memory);
  bool accept(double at, double now);
  void mark(double at);

  std::int64_t batch_;
  int ranks_;
  double last_;  // of all lines
  double last_sign_at_;
  trial::StepsFrom source_;
  std::optional<double> mark_;  // where the next step starts; nullopt after a gap
  std::optional<double> first_mark_;
  std::int64_t dropped_ = 0, bad_ = 0, updates_ = 0;
  SampleStride stride_;
  output::LossCurve losses_;
  convergence::NoiseScale noise_;
  std::optional<std::int64_t> epoch_batches_;
  std::optional<client::DeviceMemory> device_memory_;
  std::optional<client::Failed> failed_;
};

}  // namespace sweetspot::workload::command
