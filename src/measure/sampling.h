#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "measure/measure.h"
#include "trial/trial.h"

namespace sweetspot::measure {

// No warm-up and no trial has fewer, however long they take.
inline constexpr int fewest_steps = 3;

// Whether the warm-up is over, from the times of its steps and the total time: the later half of
// them has become neither faster nor slower. Autotuning, compilation and first allocations make
// steps far slower than the rest; noise ends a warm-up soon.
bool warmed_up(std::span<const double> seconds, double elapsed);

// Whether these steps repeat, as those of a GPU and of an idle CPU do.
bool are_steady(double fastest, double slowest);

// The seconds of one weight update.
double per_update(const trial::Step& step);

// Sets the median, the outliers and the mean phases of the steps that count; at least one does.
void summarize_steps(trial::Trial& trial, bool (*counts)(const trial::Step&));

// The sampled steps of a trial and their estimate so far: a stopping criterion without clock or
// workload, fed one step at a time.
class Sampling {
 public:
  explicit Sampling(const MeasureOptions& options) : options_(options) {}

  // `elapsed` is the time since sampling began. The interval is recomputed at growing distances, so
  // that the cost per step does not depend on their number.
  void add(double seconds, std::int64_t samples, double elapsed);

  // Limits the time, regardless of the options, unless a reading takes longer.
  void hurry(core::Seconds most);

  // Goes on, also after a reason to stop: what was to be known takes at least this long.
  void go_on(core::Seconds least);

  // No further step will come, for this reason.
  void end(trial::StopReason why);

  std::optional<trial::StopReason> stop() const { return stop_; }
  // As last computed; exact once there is a reason to stop.
  const std::optional<trial::Interval>& samples_per_second() const { return interval_; }
  std::int64_t count() const { return static_cast<std::int64_t>(seconds_.size()); }

 private:
  void judge(double elapsed);
  bool enough(double elapsed) const;

  MeasureOptions options_;
  core::Seconds least_{0};
  std::vector<double> seconds_;
  std::vector<std::int64_t> samples_;
  double fastest_ = 0, slowest_ = 0;  // seconds per sample
  std::int64_t next_judgement_ = 2;
  std::optional<trial::Interval> interval_;
  std::optional<trial::StopReason> stop_;
};

}  // namespace sweetspot::measure
