#include "search/confirm.h"

#include <algorithm>
#include <set>

namespace sweetspot::search {
namespace {

// Within this many tolerances of the fastest, drift may have decided.
constexpr double close_tolerances = 2;
// A speed whose standard deviation is more than this, in tolerances, decides little: such a batch
// is measured up to so many times as often, unless all trials have taken so long already, waiting
// for a calm machine included.
constexpr double vague_tolerances = 1.0 / 4;
constexpr int most_times_as_often = 3;
constexpr double long_seconds = 20;

std::set<std::int64_t> contenders(const Choice& choice, const Evidence& evidence,
                                  double tolerance) {
  std::set<std::int64_t> found{choice.batch, choice.best_batch};
  const auto chosen =
      std::ranges::lower_bound(evidence.points, choice.batch, {}, &stats::StepPoint::batch);
  if (chosen != evidence.points.begin()) {
    const stats::StepPoint& smaller = *std::prev(chosen);
    const double speed = static_cast<double>(smaller.batch) / smaller.seconds;
    if (speed >= (1 - close_tolerances * tolerance) * choice.best_samples_per_second)
      found.insert(smaller.batch);
  }
  return found;
}

std::ptrdiff_t trials_of(std::span<const trial::Trial> trials, std::int64_t batch) {
  return std::ranges::count(trials, batch,
                            [](const trial::Trial& trial) { return trial.setting.batch; });
}

bool contended(const trial::Trial& trial) { return trial.contention.contended; }

bool hardly_ever_calm(std::span<const trial::Trial> trials) {
  constexpr std::ptrdiff_t few = 4;
  const std::ptrdiff_t busy = std::ranges::count_if(trials, contended);
  return busy > few && 2 * busy > std::ssize(trials);
}

double seconds_of(std::span<const trial::Trial> trials) {
  double sum = 0;
  for (const trial::Trial& trial : trials) sum += trial.seconds;
  return sum;
}

double deviation_of(const Evidence& evidence, std::int64_t batch) {
  const auto point = std::ranges::find(evidence.points, batch, &stats::StepPoint::batch);
  return point == evidence.points.end() ? 0 : point->deviation_share;
}

}  // namespace

std::optional<std::int64_t> unrepeated_first(std::span<const trial::Trial> trials,
                                             const Evidence& evidence, const Limits& limits) {
  if (evidence.points.size() != 1) return std::nullopt;
  const std::int64_t first = evidence.points.front().batch;
  if (trials_of(trials, first) >= limits.repeats) return std::nullopt;
  return first;
}

std::optional<std::int64_t> always_contended(std::span<const trial::Trial> trials,
                                             const Limits& limits) {
  if (hardly_ever_calm(trials)) return std::nullopt;
  constexpr std::ptrdiff_t most_retries = 3;  // of batches that the answer may not rest on at all
  const std::ptrdiff_t retried = std::ranges::count_if(trials, [&](const trial::Trial& trial) {
    return contended(trial) && trials_of(trials, trial.setting.batch) > 1;
  });
  if (retried >= most_retries) return std::nullopt;
  for (const trial::Trial& trial : trials) {
    const std::int64_t batch = trial.setting.batch;
    const bool never_calm = std::ranges::none_of(trials, [&](const trial::Trial& other) {
      return other.setting.batch == batch && !contended(other);
    });
    if (never_calm && trials_of(trials, batch) < limits.repeats) return batch;
  }
  return std::nullopt;
}

std::optional<std::int64_t> unconfirmed(std::span<const trial::Trial> trials, const Choice& choice,
                                        const Evidence& evidence, const Limits& limits) {
  const bool once = limits.repeats <= 1;
  const bool more = !once && seconds_of(trials) < long_seconds && !hardly_ever_calm(trials);
  std::optional<std::int64_t> next;
  double most_missing = 0;
  for (std::int64_t batch : contenders(choice, evidence, limits.tolerance)) {
    // The smallest of many that look fast enough is the one that had most luck.
    std::ptrdiff_t wanted = limits.repeats + (batch == choice.batch && !once);
    if (more && deviation_of(evidence, batch) > vague_tolerances * limits.tolerance)
      wanted = std::max<std::ptrdiff_t>(wanted, most_times_as_often * limits.repeats);
    auto missing = static_cast<double>(wanted - trials_of(trials, batch));
    // Not twice in a row while another one is missing: what disturbed the one trial would disturb
    // the next.
    if (batch == trials.back().setting.batch) missing = std::min(missing, 0.5);
    if (missing > most_missing) most_missing = missing, next = batch;
  }
  return next;
}

}  // namespace sweetspot::search
