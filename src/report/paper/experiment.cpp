#include "report/paper/experiment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "report/epochs.h"
#include "stats/interval.h"
#include "stats/linear_fit.h"
#include "stats/moments.h"

namespace sweetspot::report::paper {
namespace {

// During training only: a trial begins with opening the device, which does not count.
std::optional<double> mean_utilisation(const trial::Trial& trial) {
  if (trial.trace.empty()) return std::nullopt;
  double begin = trial.trace.back().at_seconds;
  for (const trial::Epoch& epoch : trial.epochs) begin -= epoch.train_seconds;
  stats::Moments moments;
  for (const trial::Reading& reading : trial.trace)
    if (reading.utilisation_share && reading.at_seconds >= begin)
      moments.add(*reading.utilisation_share);
  if (moments.count() == 0) return std::nullopt;
  return moments.mean();
}

void add(Point& point, const trial::Trial& trial) {
  point.batch = trial.setting.batch;
  point.steps_per_epoch =
      static_cast<double>(trial.steps) / static_cast<double>(trial.epochs.size());
  point.seconds.resize(std::max(point.seconds.size(), trial.epochs.size()));
  point.accuracy.resize(point.seconds.size());
  double seconds = 0;
  for (std::size_t i = 0; i < trial.epochs.size(); ++i) {
    const trial::Epoch& epoch = trial.epochs[i];
    seconds += epoch.train_seconds;
    point.epoch_seconds.push_back(epoch.train_seconds);
    point.seconds[i].push_back(seconds);
    if (epoch.test_accuracy) point.accuracy[i].push_back(*epoch.test_accuracy);
  }
  if (trial.epochs.size() > 1)
    point.first_epoch_ratios.push_back(seconds / trial.epochs.front().train_seconds);
  if (const auto utilisation = mean_utilisation(trial)) point.utilisation.push_back(*utilisation);
}

}  // namespace

const Device* Experiment::cpu() const {
  const auto found = std::ranges::find_if(devices, [](const Device& d) { return !d.is_gpu(); });
  return found == devices.end() ? nullptr : &*found;
}

const Device* Experiment::gpu() const {
  const auto found = std::ranges::find_if(devices, [](const Device& d) { return d.is_gpu(); });
  return found == devices.end() ? nullptr : &*found;
}

const Point* Curve::at(std::int64_t batch) const {
  const auto found =
      std::ranges::find_if(points, [&](const Point& point) { return point.batch == batch; });
  return found == points.end() ? nullptr : &*found;
}

stats::Interval Curve::epoch_seconds(const Point& point) const {
  return stats::combined(point.epoch_seconds, spread).value_or(stats::Interval{});
}

std::optional<stats::Interval> Curve::accuracy(const Point& point, int epochs) const {
  const auto place = static_cast<std::size_t>(epochs - 1);
  if (place >= point.accuracy.size() || point.accuracy[place].empty()) return std::nullopt;
  const std::vector<double>& values = point.accuracy[place];
  if (values.size() > 1) return mean_share(values);
  return stats::proportion(values.front(), static_cast<double>(test_samples));
}

Curve curve(const Device& device, const Experiment& experiment) {
  std::map<std::int64_t, Point> by_batch;
  for (const trial::Trial& trial : device.trials)
    if (trial.outcome == trial::Outcome::ok && !trial.epochs.empty() && trial.steps > 0)
      add(by_batch[trial.setting.batch], trial);
  Curve curve;
  curve.test_samples = experiment.test_samples;
  std::vector<std::vector<double>> groups;
  for (auto& [batch, point] : by_batch) {
    groups.push_back(point.epoch_seconds);
    curve.points.push_back(std::move(point));
  }
  curve.spread = stats::spread(groups);
  return curve;
}

// A large batch's step is as uncertain in percent as a small one's, so its weight is less.
std::optional<stats::Interval> fixed_step_seconds(const Curve& curve) {
  constexpr std::size_t fewest = 3;
  if (curve.points.size() < fewest) return std::nullopt;
  std::vector<stats::LinePoint> line;
  for (const Point& point : curve.points) {
    const double seconds = curve.epoch_seconds(point).mean / point.steps_per_epoch;
    line.push_back({static_cast<double>(point.batch), seconds, 1 / (seconds * seconds)});
  }
  const auto fit = stats::fit_line(line);
  return fit ? fit->intercept_interval : std::nullopt;
}

stats::Interval difference(const stats::Interval& a, const stats::Interval& b) {
  const double mean = a.mean - b.mean;
  return {mean, mean - std::hypot(a.mean - a.low, b.high - b.mean),
          mean + std::hypot(a.high - a.mean, b.mean - b.low)};
}

Experiment with_slowest_steps(Experiment experiment, double least_step_seconds) {
  for (Device& device : experiment.devices) {
    if (!device.is_gpu()) continue;
    for (trial::Trial& trial : device.trials) {
      if (trial.epochs.empty()) continue;
      const double least = least_step_seconds * static_cast<double>(trial.steps) /
                           static_cast<double>(trial.epochs.size());
      double before = 0, after = 0;
      for (trial::Epoch& epoch : trial.epochs) {
        before += epoch.train_seconds;
        epoch.train_seconds = std::max(epoch.train_seconds, least);
        after += epoch.train_seconds;
      }
      // The same work in a longer time.
      for (trial::Reading& reading : trial.trace)
        if (reading.utilisation_share) *reading.utilisation_share *= before / after;
    }
  }
  return experiment;
}

}  // namespace sweetspot::report::paper
