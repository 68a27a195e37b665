#include "report/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "report/over_seeds.h"
#include "search/evidence.h"
#include "stats/moments.h"
#include "stats/quantile.h"

namespace sweetspot::report {
namespace {

// The model weighs every pair of batches: beyond these many its time is felt, and what it could say
// between two batches is seen already.
constexpr std::size_t most_fitted_batches = 40;
constexpr double fitted_per_octave = 8;

using Base = std::tuple<std::string, std::string, std::int64_t, int, int, double>;
Base base_of(const trial::Trial& t) {
  const trial::Setting& s = t.setting;
  return {t.device, s.precision, s.accumulation, s.workers, s.prefetch, s.learning_rate};
}

// Those of the parts that differ among the series.
std::string name_of(const Base& base, const std::map<Base, std::vector<trial::Trial>>& all) {
  std::string name;
  const auto differs = [&]<std::size_t part>() {
    return std::ranges::any_of(all, [&](const auto& entry) {
      return std::get<part>(entry.first) != std::get<part>(base);
    });
  };
  const auto add = [&](bool differing, const std::string& words) {
    if (differing) name += (name.empty() ? "" : ", ") + words;
  };
  const int workers = std::get<3>(base);
  add(differs.template operator()<0>(), std::get<0>(base));
  add(differs.template operator()<1>(), std::get<1>(base));
  add(differs.template operator()<2>(), fmt::format("accumulation {}", std::get<2>(base)));
  add(differs.template operator()<3>(),
      fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"));
  add(differs.template operator()<4>(), fmt::format("prefetch {}", std::get<4>(base)));
  add(differs.template operator()<5>(), fmt::format("learning rate {:g}", std::get<5>(base)));
  return name;
}

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
  for (const trial::Trial* t : trials) {
    largest(point.memory_predicted, t->memory_predicted);
    largest(point.memory_measured, t->memory_measured);
    if (t->outcome != trial::Outcome::ok || !t->samples_per_second) continue;
    ++point.trials;
    point.samples_per_second = t->samples_per_second;  // of several: see below
  }
  point.phase_shares = mean_shares(trials);
  return point;
}

std::vector<Series::Fitted> fitted(const std::vector<stats::StepPoint>& points) {
  std::vector<Series::Fitted> list;
  if (points.size() < 2 || points.size() > most_fitted_batches) return list;
  const stats::StepModel model(points);
  const double first = std::log2(static_cast<double>(points.front().batch));
  const double octaves = std::log2(static_cast<double>(points.back().batch)) - first;
  const int steps = std::max(1, static_cast<int>(std::ceil(octaves * fitted_per_octave)));
  std::int64_t last = 0;
  for (int i = 0; i <= steps; ++i) {
    const auto batch =
        static_cast<std::int64_t>(std::llround(std::exp2(first + octaves * i / steps)));
    if (batch == last) continue;
    const stats::Interval speed = model.throughput_interval(last = batch);
    list.push_back({batch, {speed.mean, speed.low, speed.high}});
  }
  return list;
}

std::vector<EpochPoint> epochs_of(const std::vector<trial::Trial>& trials) {
  struct Runs {
    std::vector<double> accuracies, seconds;
  };
  std::map<std::pair<std::int64_t, int>, Runs> runs;
  for (const trial::Trial& t : trials) {
    double seconds = 0;
    for (const trial::Epoch& epoch : t.epochs) {
      Runs& run = runs[{t.setting.batch, epoch.epoch}];
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

Series series_of(const std::vector<trial::Trial>& trials) {
  Series made;
  std::map<std::int64_t, std::vector<const trial::Trial*>> batches;
  for (const trial::Trial& t : trials) batches[t.setting.batch].push_back(&t);
  for (const auto& [batch, of_batch] : batches) made.points.push_back(point_of(batch, of_batch));
  // Several trials of a batch count as the search counts them.
  const search::Evidence known = search::evidence(trials);
  for (const stats::StepPoint& seen : known.points) {
    auto point = std::ranges::find(made.points, seen.batch, &SeriesPoint::batch);
    if (point->trials < 2) continue;
    const double speed = static_cast<double>(seen.batch) / seen.seconds;
    const double reach = std::exp(stats::normal95 * seen.deviation_share);
    point->samples_per_second = trial::Interval{speed, speed / reach, speed * reach};
  }
  made.cost = advise::step_cost(trials);
  made.fitted = fitted(known.points);
  made.epochs = epochs_of(trials);
  return made;
}

}  // namespace

std::vector<Series> series(const Answer& answer) {
  std::map<Base, std::vector<trial::Trial>> groups;
  for (const trial::Trial& t : answer.trials) groups[base_of(t)].push_back(t);
  std::vector<Series> list;
  for (const auto& [base, trials] : groups) {
    list.push_back(series_of(trials));
    list.back().name = name_of(base, groups);
  }
  return list;
}

}  // namespace sweetspot::report
