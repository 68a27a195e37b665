#include "report/charts/series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "report/epochs.h"
#include "report/speeds.h"
#include "stats/moments.h"

namespace sweetspot::report {
namespace {

std::optional<trial::PhaseSeconds> mean_shares(const std::vector<const trial::Trial*>& trials) {
  trial::PhaseSeconds sum{};
  double count = 0;
  for (const trial::Trial* t : trials) {
    if (!t->phases) continue;
    const double step = std::accumulate(t->phases->begin(), t->phases->end(), 0.0);
    if (!(step > 0) || !std::isfinite(step)) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += (*t->phases)[i] / step;
    ++count;
  }
  if (count == 0) return std::nullopt;
  for (double& share : sum) share /= count;
  return sum;
}

SeriesPoint point_of(std::int64_t batch, const std::vector<const trial::Trial*>& trials) {
  SeriesPoint point;
  point.batch = batch;
  const auto largest = [](std::optional<core::Bytes>& most,
                          const std::optional<core::Bytes>& each) {
    if (each) most = std::max(most.value_or(0), *each);
  };
  std::vector<double> energies;
  for (const trial::Trial* t : trials) {
    largest(point.memory_predicted, t->memory_predicted);
    largest(point.memory_measured, t->memory_measured);
    if (t->outcome != trial::Outcome::ok || !t->samples_per_second) continue;
    ++point.trials;
    if (const auto joules = trial::joules_per_sample(*t)) energies.push_back(*joules);
  }
  if (!energies.empty()) point.joules_per_sample = stats::Moments(energies).mean();
  point.phase_shares = mean_shares(trials);
  return point;
}

std::vector<EpochPoint> epochs_of(const std::vector<const trial::Trial*>& trials) {
  struct Runs {
    std::vector<double> accuracies, seconds;
  };
  std::map<std::pair<std::int64_t, int>, Runs> runs;
  for (const trial::Trial* t : trials) {
    double seconds = 0;
    for (const trial::Epoch& epoch : t->epochs) {
      Runs& run = runs[{t->setting.batch, epoch.epoch}];
      run.seconds.push_back(seconds += epoch.train_seconds);
      if (epoch.test_accuracy) run.accuracies.push_back(*epoch.test_accuracy);
    }
  }
  const auto over_seeds = [](const std::vector<double>& values,
                             const auto& interval) -> std::optional<trial::Interval> {
    if (values.empty()) return std::nullopt;
    const double mean = stats::Moments(values).mean();
    const auto found = interval(values);  // nothing of one value
    return found ? trial::Interval{found->mean, found->low, found->high}
                 : trial::Interval{mean, mean, mean};
  };
  std::vector<EpochPoint> list;
  for (const auto& [at, run] : runs)
    list.push_back({at.first, at.second, run.seconds.size(), over_seeds(run.accuracies, mean_share),
                    *over_seeds(run.seconds, mean_seconds)});
  return list;
}

Series series_of(const Curve& curve, const ShownStudy& study) {
  Series made;
  made.name = curve.name;
  std::map<std::int64_t, std::vector<const trial::Trial*>> batches;
  for (const trial::Trial* t : curve.trials) batches[size_of(*t, study)].push_back(t);
  for (const auto& [batch, of_batch] : batches) {
    made.points.push_back(point_of(batch, of_batch));
    const auto speed = curve.samples_per_second.find(batch);
    if (speed != curve.samples_per_second.end())
      made.points.back().samples_per_second = speed->second;
  }
  made.cost = curve.cost;
  made.epochs = epochs_of(curve.trials);
  return made;
}

}  // namespace

std::vector<Series> series(const ShownStudy& study) {
  std::vector<Series> list;
  for (const Curve& curve : curves(study)) list.push_back(series_of(curve, study));
  return list;
}

}  // namespace sweetspot::report
