#include "measure/sampling.h"

#include <algorithm>
#include <cmath>

#include "stats/batch_means.h"
#include "stats/experiment.h"
#include "stats/quantile.h"

namespace sweetspot::measure {
namespace {

// Caches fill and clocks rise within tens of milliseconds, which may be hundreds of small steps.
constexpr double least_warm_up_seconds = 5 * experiment::block_seconds;

constexpr core::Seconds energy_reading{1};

}  // namespace

bool are_steady(double fastest, double slowest) {
  return slowest <= (1 + experiment::steady_share) * fastest;
}

bool warmed_up(std::span<const double> seconds, double elapsed) {
  if (std::ssize(seconds) < fewest_steps || elapsed < least_warm_up_seconds) return false;
  const auto window = seconds.last(std::max<std::size_t>(2, seconds.size() / 2));
  const double before = *stats::median(window.first(window.size() / 2));
  const double after = *stats::median(window.last(window.size() / 2));
  return std::abs(after - before) <= experiment::noticeable_share * after;
}

double per_update(const trial::Step& step) {
  return step.seconds / static_cast<double>(step.updates);
}

void summarize_steps(trial::Trial& trial, bool (*counts)(const trial::Step&)) {
  std::vector<trial::Step*> counted;
  std::vector<double> seconds;
  trial::PhaseSeconds sums{};
  std::int64_t updates = 0;
  for (trial::Step& step : trial.raw) {
    if (!counts(step)) continue;
    counted.push_back(&step), seconds.push_back(per_update(step));
    updates += step.updates;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += step.phases[i];
  }
  trial.timings = std::ssize(counted);
  trial.step_seconds_median = stats::median(seconds);
  const std::vector<bool> flags = stats::outliers(seconds);
  trial.outlier_steps = std::ranges::count(flags, true);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i]->outlier = flags[i];
  for (double& sum : sums) sum /= static_cast<double>(updates);
  // A workload without phases leaves them at zero.
  if (std::ranges::any_of(sums, [](double sum) { return sum > 0; })) trial.phases = sums;
}

void Sampling::add(double seconds, std::int64_t samples, double elapsed) {
  seconds_.push_back(seconds);
  samples_.push_back(samples);
  const double each = seconds / static_cast<double>(std::max<std::int64_t>(1, samples));
  fastest_ = count() == 1 ? each : std::min(fastest_, each);
  slowest_ = std::max(slowest_, each);
  const bool limit = count() >= options_.max_steps || elapsed >= options_.max_time.count();
  if (count() < next_judgement_ && !limit) return;
  next_judgement_ = count() + std::max<std::int64_t>(1, count() / 8);
  judge(elapsed);
}

void Sampling::hurry(core::Seconds most) {
  if (options_.reads_energy) most = std::max(most, energy_reading);
  options_.max_time = std::min(options_.max_time, most);
}

void Sampling::go_on(core::Seconds least) {
  least_ = least;
  options_.max_time = std::max(options_.max_time, least);
  stop_.reset();
}

void Sampling::end(trial::StopReason why) {
  interval_ = stats::throughput_interval(seconds_, samples_);
  stop_ = why;
}

bool Sampling::enough(double elapsed) const {
  if (options_.reads_energy && elapsed < energy_reading.count()) return false;
  if (elapsed < least_.count()) return false;
  // Four that agree give the mean to about one percent; no number of them reveals the difference
  // between runs.
  return (count() > fewest_steps && elapsed >= options_.steady_time.count() &&
          are_steady(fastest_, slowest_)) ||
         (count() >= options_.min_steps &&
          elapsed >= std::min(options_.min_time, options_.max_time).count());
}

void Sampling::judge(double elapsed) {
  interval_ = stats::throughput_interval(seconds_, samples_);
  if (options_.updates) return;  // the caller counts them
  if (interval_ && enough(elapsed) && interval_->half_width_share() <= options_.precision)
    stop_ = trial::StopReason::precise;
  else if (count() >= options_.max_steps)
    stop_ = trial::StopReason::max_steps;
  else if (count() >= fewest_steps && elapsed >= options_.max_time.count())
    stop_ = trial::StopReason::time_limit;
  else if (enough(elapsed) && stats::at_noise_floor(seconds_, samples_))
    stop_ = trial::StopReason::noise_floor;
}

}  // namespace sweetspot::measure
