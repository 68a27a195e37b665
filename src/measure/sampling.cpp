#include "measure/sampling.h"

#include <algorithm>
#include <cmath>

#include "stats/batch_means.h"
#include "stats/quantile.h"
#include "stats/settled.h"

namespace sweetspot::measure {
namespace {

// Caches fill and clocks rise within tens of milliseconds, which may be hundreds of small steps.
constexpr std::size_t fewest_warm_up_steps = 6;
constexpr double least_warm_up_seconds = 0.05;
// If steps are long, two neighbours that agree are all the warm-up there is time for.
constexpr double long_warm_up_seconds = 0.5, agreeing_share = 0.05;
// Steps of a GPU repeat to half a percent, and so do those of an idle CPU. Autotuning, compilation
// and first allocations make steps far slower than the rest: once this many agree this well, they
// are over.
constexpr double steady_share = 0.02;
// Four that are so close together give the mean to about one percent. No number of steps reveals
// the difference between runs.
constexpr std::int64_t fewest_steady_steps = 4;

// A step may take seconds: this many are worth exceeding the time limit for, and this few end a
// trial that has taken twice as long.
constexpr std::int64_t few_steps = 5, fewest_steps = 3;
// Long steps carry much information each: a quarter of the time and as many as batch means need are
// enough.
constexpr double share_of_time_for_few = 0.25;

constexpr core::Seconds energy_reading{1};

bool out_of_time(const MeasureOptions& options, std::int64_t steps, double elapsed) {
  const double over = elapsed / options.max_time.count();
  return (over >= 1 && steps >= few_steps) || (over >= 2 && steps >= fewest_steps);
}

bool is_steady(double fastest, double slowest) { return slowest <= (1 + steady_share) * fastest; }

}  // namespace

bool ends_steadily(const std::vector<double>& seconds) {
  double fastest = 0, slowest = 0, sum = 0;
  for (std::size_t count = 0; count < seconds.size(); ++count) {
    if (count >= steady_warm_up_steps && sum >= least_warm_up_seconds) return true;
    const double step = seconds[seconds.size() - 1 - count];
    fastest = count == 0 ? step : std::min(fastest, step);
    slowest = std::max(slowest, step);
    if (!is_steady(fastest, slowest)) return false;
    sum += step;
  }
  return seconds.size() >= steady_warm_up_steps && sum >= least_warm_up_seconds;
}

bool warmed_up(const std::vector<double>& seconds, double elapsed) {
  if (ends_steadily(seconds)) return true;
  const std::size_t count = seconds.size();
  if (elapsed >= long_warm_up_seconds && count >= 3) {
    const double last = seconds[count - 1], before = seconds[count - 2];
    if (std::abs(last - before) <= agreeing_share * std::min(last, before)) return true;
  }
  return count >= fewest_warm_up_steps && elapsed >= least_warm_up_seconds &&
         stats::settled(seconds);
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

bool Sampling::steady(double elapsed) const {
  return count() >= fewest_steady_steps && elapsed >= options_.steady_time.count() &&
         is_steady(fastest_, slowest_);
}

bool Sampling::enough(double elapsed) const {
  if (options_.reads_energy && elapsed < energy_reading.count()) return false;
  if (elapsed < least_.count()) return false;
  return steady(elapsed) ||
         (count() >= options_.min_steps &&
          elapsed >= std::min(options_.min_time, options_.max_time).count()) ||
         (count() >= stats::min_batches_for_interval &&
          elapsed >= share_of_time_for_few * options_.max_time.count());
}

void Sampling::judge(double elapsed) {
  interval_ = stats::throughput_interval(seconds_, samples_);
  if (options_.updates) return;  // the caller counts them
  if (interval_ && enough(elapsed) && interval_->half_width_share() <= options_.precision)
    stop_ = trial::StopReason::precise;
  else if (count() >= options_.max_steps)
    stop_ = trial::StopReason::max_steps;
  else if (out_of_time(options_, count(), elapsed))
    stop_ = trial::StopReason::time_limit;
  else if (enough(elapsed) && stats::at_noise_floor(seconds_, samples_))
    stop_ = trial::StopReason::noise_floor;
}

}  // namespace sweetspot::measure
