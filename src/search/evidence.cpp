#include "search/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "stats/experiment.h"
#include "stats/quantile.h"
#include "stats/round_table.h"

namespace sweetspot::search {
namespace {

using namespace experiment;
using stats::square;

// One separate run of a batch.
struct Run {
  double log_seconds = 0;
  double variance = 0;  // from its own steps, and from contention
  bool contended = false;
  bool on_gpu = false;  // with steps that wait for nothing else
};

struct Readings {
  std::map<std::int64_t, stats::RoundTimes> rounds;
  std::map<std::int64_t, stats::RoundTimes> slowed;  // blocks of a slowed machine
  std::set<std::int64_t> only_slowed{};              // batches with only slowed blocks
  bool rounds_on_cpu = false;
  std::map<std::int64_t, std::vector<Run>> runs;
  std::map<std::int64_t, std::vector<energy::Reading>> energy;
};

// For one pass over the size in question, which may be a part of an update. Returns whether it had
// any.
bool add_blocks(const trial::Trial& trial, Readings& readings) {
  const std::int64_t batch = trial.setting.batch;
  bool any = false;
  for (const trial::Step& step : trial.raw) {
    if (!trial::is_block(step)) continue;
    (step.slowed ? readings.slowed : readings.rounds)[batch][step.round] =
        std::log(step.seconds / static_cast<double>(step.samples) * static_cast<double>(batch));
    any = true;
  }
  if (any) readings.rounds_on_cpu |= !trial::on_gpu(trial.device);
  return any;
}

std::map<std::int64_t, std::size_t> compared_rounds(const Readings& readings) {
  std::map<std::int32_t, int> in_round;
  const auto each_block = [&](const auto& visit) {
    for (const auto* blocks : {&readings.rounds, &readings.slowed})
      for (const auto& [batch, of_batch] : *blocks)
        for (const auto& [round, value] : of_batch) visit(batch, round);
  };
  each_block([&](std::int64_t, std::int32_t round) { ++in_round[round]; });
  std::map<std::int64_t, std::size_t> found;
  each_block([&](std::int64_t batch, std::int32_t round) { found[batch] += in_round[round] > 1; });
  return found;
}

double level(const stats::RoundTimes& blocks) {
  return stats::RoundTable({blocks}).estimates().front();
}

// How much longer the machine took (log) while it slowed this batch, at least, according to all
// blocks of others in the same rounds, if these were seen on a calm machine too; 0 if there are
// none. Blocks of other rounds may have been slowed more: a neighbour takes a twentieth, or half of
// a core. And so were those that it hit, of steps that are shorter than its turns: a long step
// meets it now and then, as these steps together do. Of the others the one that lost least: small
// batches, which synchronise more often, lose several times as much as large ones.
double slowing(std::int64_t batch, const Readings& readings) {
  std::optional<double> least;
  for (const auto& [other, calm] : readings.rounds) {
    const auto slowed = readings.slowed.find(other);
    if (slowed == readings.slowed.end() || calm.size() < least_calm ||
        readings.only_slowed.contains(other))
      continue;
    const double usual = level(calm);
    double times = 0, count = 0;
    for (const auto& [round, value] : readings.slowed.at(batch))
      for (const stats::RoundTimes* blocks : {&calm, &slowed->second})
        if (const auto same = blocks->find(round); same != blocks->end())
          times += std::exp(same->second - usual), ++count;
    if (count > 0) least = std::min(least.value_or(times / count), times / count);
  }
  return std::log(std::max(1.0, least.value_or(1)));
}

// A batch seen only on a slowed machine is corrected by what others show, with a large error. If
// hardly any was seen on a calm one, all count alike.
void add_slowed(Readings& readings) {
  const auto seen_calm = std::ranges::count_if(
      readings.rounds, [](const auto& of_batch) { return of_batch.second.size() >= least_calm; });
  if (seen_calm < static_cast<std::ptrdiff_t>(least_calm)) {
    for (auto& [batch, blocks] : readings.slowed) readings.rounds[batch].merge(blocks);
    return;
  }
  for (const auto& [batch, blocks] : readings.slowed)
    if (!readings.rounds.contains(batch)) readings.only_slowed.insert(batch);
  for (const std::int64_t batch : readings.only_slowed) {
    const double longer = slowing(batch, readings);
    for (const auto& [round, value] : readings.slowed.at(batch))
      readings.rounds[batch][round] = value - longer;
  }
}

bool gpu_was_shared(const trial::Contention& seen) {
  return seen.other_gpu_share.value_or(0) > 0 || seen.other_gpu_memory.value_or(0) > 0 ||
         !seen.gpu_throttle.empty();
}

Run run_of(const trial::Trial& trial) {
  const core::Interval& speed = *trial.samples_per_second;
  const double half = std::log(speed.high / speed.low) / 2;  // not finite if unknown
  const double deviation = std::isfinite(half) && half > 0 ? half / stats::normal95 : 0;
  const bool uses_gpu = trial::on_gpu(trial.device) || !trial.gpus.empty();
  const bool on_gpu = uses_gpu && deviation <= gpu_step_deviation;
  // Steps that repeat on a GPU do not wait for a CPU, however busy it is.
  const bool contended =
      trial.contention.contended && (!on_gpu || gpu_was_shared(trial.contention));
  return {std::log(static_cast<double>(trial.setting.batch) / speed.mean),
          square(deviation) + (contended ? square(contended_deviation) : 0), contended, on_gpu};
}

// The variance between runs of one batch beyond what their own intervals explain: what changes on a
// machine over time, which no single run sees. (DerSimonian and Laird's estimate over all batches,
// with a prior that counts as two runs: it is never zero.) Contended runs are no reason to doubt
// the undisturbed ones. Runs on a GPU are estimated separately.
double variance_between(const std::map<std::int64_t, std::vector<Run>>& runs, bool on_gpu) {
  constexpr double prior_freedom = 2;
  double excess = 0, scale = 0, freedom = 0;
  for (const auto& [batch, all] : runs) {
    std::vector<Run> of_batch = all;
    std::erase_if(of_batch, [&](const Run& run) { return run.contended || run.on_gpu != on_gpu; });
    if (of_batch.size() < 2) continue;
    double weights = 0, squares = 0, weighted = 0;
    for (const Run& run : of_batch) {
      const double weight = 1 / (run.variance + 1e-8);
      weights += weight, squares += weight * weight, weighted += weight * run.log_seconds;
    }
    for (const Run& run : of_batch)
      excess += square(run.log_seconds - weighted / weights) / (run.variance + 1e-8);
    const double degrees = static_cast<double>(of_batch.size()) - 1;
    excess -= degrees, freedom += degrees;
    scale += weights - squares / weights;
  }
  const double found = freedom > 0 ? std::max(0.0, excess / scale) : 0;
  const double prior = square(on_gpu ? fine_run_deviation : run_deviation);
  return (freedom * found + prior_freedom * prior) / (freedom + prior_freedom);
}

// All log step times and, behind them, the offset of separate runs: how much longer steps take in
// them than in rounds, at any batch alike. One normal distribution.
struct JointTimes {
  explicit JointTimes(std::size_t batches)
      : offset(batches), means(batches + 1), covariance((batches + 1) * (batches + 1)) {}
  double& with(std::size_t a, std::size_t b) { return covariance[a * (offset + 1) + b]; }

  // A run of a batch in rounds tells of both, and of what has errors in common with them.
  void update(std::size_t batch, const Run& run) {
    std::vector<double> gain;
    for (std::size_t a = 0; a <= offset; ++a) gain.push_back(with(a, batch) + with(a, offset));
    const double total = gain[batch] + gain[offset] + run.variance;
    const double surprise = run.log_seconds - means[batch] - means[offset];
    for (std::size_t a = 0; a <= offset; ++a) {
      means[a] += gain[a] * surprise / total;
      for (std::size_t b = 0; b <= offset; ++b) with(a, b) -= gain[a] * gain[b] / total;
    }
  }

  // The offset's error is shared by all batches that have only runs.
  void add(std::size_t batch, const Run& run) {
    means[batch] = run.log_seconds - means[offset];
    for (std::size_t a = 0; a <= offset; ++a) with(a, batch) = with(batch, a) = -with(a, offset);
    with(batch, batch) = run.variance + with(offset, offset);
  }

  std::size_t offset;  // its place
  std::vector<double> means, covariance;
};

// A batch's separate runs, as one.
Run mean_of(const std::vector<Run>& runs, double between, double between_on_gpu) {
  double weights = 0, weighted = 0;
  for (const Run& run : runs) {
    const double weight = 1 / (run.variance + (run.on_gpu ? between_on_gpu : between));
    weights += weight, weighted += weight * run.log_seconds;
  }
  return {weighted / weights, 1 / weights};
}

// Runs are no further from rounds than from each other, as far as is known before.
void add_runs(const Readings& readings, const std::map<std::int64_t, std::size_t>& places,
              JointTimes& times) {
  const double between = variance_between(readings.runs, false);
  const double between_on_gpu = variance_between(readings.runs, true);
  const bool on_gpu = std::ranges::all_of(readings.runs, [](const auto& of_batch) {
    return std::ranges::all_of(of_batch.second, &Run::on_gpu);
  });
  // Without rounds, runs are the measure.
  if (!readings.rounds.empty())
    times.with(times.offset, times.offset) = on_gpu ? between_on_gpu : between;
  for (const auto& [batch, runs] : readings.runs)
    if (readings.rounds.contains(batch))
      times.update(places.at(batch), mean_of(runs, between, between_on_gpu));
  for (const auto& [batch, runs] : readings.runs)
    if (!readings.rounds.contains(batch))
      times.add(places.at(batch), mean_of(runs, between, between_on_gpu));
}

void add_rounds(const Readings& readings, const std::map<std::int64_t, std::size_t>& places,
                JointTimes& times) {
  if (readings.rounds.empty()) return;
  std::vector<stats::RoundTimes> columns;
  std::vector<std::size_t> place;
  for (const auto& [batch, of_batch] : readings.rounds)
    columns.push_back(of_batch), place.push_back(places.at(batch));
  const stats::RoundTable table(columns);
  const std::vector<double> covariance = table.covariance();
  for (std::size_t a = 0; a < place.size(); ++a) {
    times.means[place[a]] = table.estimates()[a];
    for (std::size_t b = 0; b < place.size(); ++b)
      times.with(place[a], place[b]) = covariance[a * place.size() + b];
    if (readings.rounds_on_cpu) times.with(place[a], place[a]) += square(place_deviation);
  }
  for (const std::int64_t batch : readings.only_slowed)
    times.with(places.at(batch), places.at(batch)) += square(contended_deviation);
}

stats::StepTimes times_of(const Readings& readings) {
  std::map<std::int64_t, std::size_t> places;
  for (const auto& [batch, of_batch] : readings.rounds) places[batch] = 0;
  for (const auto& [batch, of_batch] : readings.runs) places[batch] = 0;
  stats::StepTimes found;
  for (auto& [batch, place] : places) {
    place = found.batches.size();
    found.batches.push_back(batch);
  }
  JointTimes times(places.size());
  add_rounds(readings, places, times);
  add_runs(readings, places, times);
  for (std::size_t a = 0; a < times.offset; ++a) {
    found.log_seconds.push_back(times.means[a]);
    for (std::size_t b = 0; b < times.offset; ++b) found.covariance.push_back(times.with(a, b));
  }
  return found;
}

// Whether batch followed batch in a running program that started once, as in a session.
bool began_in_one_process(std::span<const trial::Trial> trials) {
  const auto starts = std::ranges::count_if(trials, [](const trial::Trial& trial) {
    return trial.start_up_seconds && !trial.in_same_process;
  });
  return starts == 1 && std::ranges::any_of(trials, &trial::Trial::in_same_process);
}

energy::Powers powers_of(const Readings& readings, const stats::StepTimes& times) {
  energy::Powers powers;
  for (std::size_t i = 0; i < times.batches.size(); ++i)
    if (const auto read = readings.energy.find(times.batches[i]); read != readings.energy.end())
      powers[times.batches[i]] = energy::power_of(
          read->second, static_cast<double>(times.batches[i]) / std::exp(times.log_seconds[i]));
  return powers;
}

}  // namespace

bool Evidence::knows(std::int64_t batch) const {
  return std::ranges::binary_search(times.batches, batch);
}

double Evidence::finest_deviation() const {
  const std::size_t n = times.batches.size();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) least = std::min(least, times.covariance[i * n + i]);
  return std::sqrt(least);
}

bool Evidence::is_fine() const { return finest_deviation() < fine_deviation; }

Evidence evidence(std::span<const trial::Trial> trials) {
  Evidence all;
  Readings readings;
  for (const trial::Trial& trial : trials) {
    const std::int64_t batch = trial.setting.batch;
    const auto& speed = trial.samples_per_second;
    switch (trial.outcome) {
      case trial::Outcome::cancelled:
        break;
      case trial::Outcome::out_of_memory:
      case trial::Outcome::timed_out:
      case trial::Outcome::killed:  // perhaps for its memory: larger ones would not do better
        all.too_large = std::min(batch, all.too_large.value_or(batch));
        all.failed.insert(batch);
        break;
      case trial::Outcome::crashed:
      case trial::Outcome::refused:
        all.failed.insert(batch);
        break;
      case trial::Outcome::ok:
        if (const auto joules = trial::joules_per_sample(trial); joules && *joules > 0)
          readings.energy[batch].push_back({*joules, *trial.energy_samples});
        if (add_blocks(trial, readings)) break;
        if (speed && speed->mean > 0 && std::isfinite(speed->mean))
          readings.runs[batch].push_back(run_of(trial));
        else
          all.failed.insert(batch);
    }
  }
  all.compared = compared_rounds(readings);
  add_slowed(readings);
  all.times = times_of(readings);
  all.powers = powers_of(readings, all.times);
  for (const auto& [batch, runs] : readings.runs)  // the first steps of small ones may vary
    all.repeats |= std::ranges::any_of(runs, &Run::on_gpu);
  all.in_one_process = began_in_one_process(trials);
  for (const auto& [batch, of_batch] : readings.rounds) all.rounds[batch] = of_batch.size();
  for (const std::int64_t batch : all.times.batches) all.failed.erase(batch);
  if (!all.times.batches.empty()) all.largest_ok = all.times.batches.back();
  return all;
}

}  // namespace sweetspot::search
