#include "search/next_batches.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "search/knee.h"
#include "stats/experiment.h"

namespace sweetspot::search {
namespace {

using namespace experiment;

// Neighbouring candidates are at most this far apart, four per octave.
constexpr double quarter_octave = 1.25;
// An end of the range that is closer than this to a measured batch adds nothing.
constexpr double worth_an_end = 1 + noticeable_share;

// The fixed cost of a step, as a share of the larger one's time, from two batches.
double fixed_share(double small, double small_seconds, double large, double large_seconds) {
  const double slope = (large_seconds - small_seconds) / (large - small);
  return std::clamp(1 - slope * large / large_seconds, 0.0, 1.0);
}

// The largest candidate up to this batch, if it is worth a run compared with the largest that had
// one.
std::optional<std::int64_t> further_up(const std::vector<std::int64_t>& sizes, double largest,
                                       double batch) {
  const auto above = std::ranges::upper_bound(sizes, static_cast<std::int64_t>(batch));
  if (above == sizes.begin()) return std::nullopt;
  const std::int64_t found = *std::prev(above);
  return static_cast<double>(found) < worth_an_end * largest ? std::nullopt : std::optional(found);
}

std::optional<std::int64_t> upwards(const Evidence& evidence, const Range& range,
                                    const std::vector<std::int64_t>& sizes, double tolerance) {
  const auto& times = evidence.times;
  const double largest = static_cast<double>(times.batches.back());
  const double seconds = std::exp(times.log_seconds.back());
  if (largest >= static_cast<double>(range.high)) return std::nullopt;
  double limit = cheap_step_seconds;
  // Expensive ones while it still gets faster; one batch alone cannot show that.
  const double fixed = times.batches.size() == 1
                           ? 1
                           : fixed_share(static_cast<double>(times.batches.front()),
                                         std::exp(times.log_seconds.front()), largest, seconds);
  limit *= fixed > 2 * tolerance ? 100 : fixed > tolerance / 5 ? 10 : 1;
  // Step time grows at most in proportion to the batch.
  const double growth = std::clamp(limit / seconds, 1.0, static_cast<double>(most_growth));
  return further_up(sizes, largest, growth * largest);
}

// The line through the step times of the two largest batches.
class LastLine {
 public:
  explicit LastLine(const stats::StepTimes& times)
      : batch_(static_cast<double>(times.batches.back())),
        seconds_(std::exp(times.log_seconds.back())) {
    const std::size_t before = times.batches.size() - 2;
    const double share = fixed_share(static_cast<double>(times.batches[before]),
                                     std::exp(times.log_seconds[before]), batch_, seconds_);
    fixed_ = share * seconds_, slope_ = (1 - share) * seconds_ / batch_;
  }
  double speed(double batch) const { return batch / (fixed_ + slope_ * batch); }
  // How much faster a batch is than the largest.
  double gain(double batch) const { return speed(batch) / speed(batch_) - 1; }
  // The batch from which on doubling gains no more than a share.
  double doubling_gains(double share) const { return fixed_ * (1 - share) / (2 * slope_ * share); }

 private:
  double batch_, seconds_, fixed_ = 0, slope_ = 0;
};

// If memory is only guessed, a batch is run only if needed: while doubling the largest may gain
// more than the tolerance, by the line and its typical error. Whether a smaller gain matters
// depends on the answer.
std::optional<std::int64_t> upwards_with_care(const Evidence& evidence,
                                              const std::vector<std::int64_t>& sizes,
                                              double tolerance) {
  const auto& times = evidence.times;
  const double largest = static_cast<double>(times.batches.back());
  double wanted =
      std::max(static_cast<double>(most_growth) * largest, static_cast<double>(first_batch));
  std::optional<LastLine> line;
  if (times.batches.size() > 1) {
    line.emplace(times);
    const double worth = std::max(tolerance - roughness.front(), tolerance / 2);
    if (line->gain(2 * largest) <= worth) return std::nullopt;
    wanted = std::min(wanted, std::max(2 * largest, line->doubling_gains(worth)));
  }
  // Step time grows at most in proportion to the batch.
  constexpr double most_step_seconds = 100 * cheap_step_seconds;
  wanted = std::min(wanted, largest * most_step_seconds / std::exp(times.log_seconds.back()));
  auto next = further_up(sizes, largest, wanted);
  // The edge of memory is an odd size, which rarely is the answer, and further away once a power of
  // two below it was run.
  const auto round = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(next.value_or(times.batches.back()))));
  if (round > times.batches.back() && std::ranges::binary_search(sizes, round)) next = round;
  // Going to the limit of memory is not worth the risk for a small gain.
  if (next && line && line->gain(static_cast<double>(*next)) <= tolerance / 2) return std::nullopt;
  return next;
}

// The sizes of a coarse scan that can be run.
std::vector<std::int64_t> runnable_octaves(const Evidence& evidence, const Range& range,
                                           const Limits& limits) {
  std::vector<std::int64_t> sizes = octaves(range, limits);
  std::erase_if(sizes, [&](std::int64_t batch) {
    return evidence.failed.contains(batch) || !range.fits(batch);
  });
  return sizes;
}

// The size closest to a batch, if it is close.
std::optional<std::int64_t> nearest(const std::vector<std::int64_t>& sizes, double batch) {
  const auto distance = [&](std::int64_t size) {
    return std::abs(std::log(static_cast<double>(size) / batch));
  };
  const std::int64_t found = *std::ranges::min_element(sizes, {}, distance);
  return distance(found) <= std::log(quarter_octave) ? std::optional(found) : std::nullopt;
}

// If the knee is open: an unmeasured batch in the middle of its bounds.
std::optional<std::int64_t> inside_bounds(const Decision& decision, const Evidence& evidence,
                                          const Range& range,
                                          const std::vector<std::int64_t>& sizes) {
  const auto low = static_cast<double>(decision.knee_low);
  const auto high = static_cast<double>(decision.knee_high);
  if (high < quarter_octave * low || evidence.times.batches.size() >= most_batches)
    return std::nullopt;
  std::optional<std::int64_t> found;
  const auto distance = [&](std::int64_t batch) {
    return std::abs(std::log(static_cast<double>(batch) / std::sqrt(low * high)));
  };
  for (const std::int64_t batch : sizes)
    if (batch > decision.knee_low && batch < decision.knee_high && !evidence.knows(batch) &&
        range.fits(batch) && (!found || distance(batch) < distance(*found)))
      found = batch;
  return found;
}

std::size_t rounds_of(const Evidence& evidence, std::int64_t batch) {
  const auto of_batch = evidence.rounds.find(batch);
  return of_batch == evidence.rounds.end() ? 0 : of_batch->second;
}

// Blocks of one step or more.
double seconds_in_rounds(const Evidence& evidence, std::int64_t batch) {
  const std::size_t rounds = rounds_of(evidence, batch);
  if (rounds == 0) return 0;
  const auto i =
      std::ranges::lower_bound(evidence.times.batches, batch) - evidence.times.batches.begin();
  const double step = std::exp(evidence.times.log_seconds[static_cast<std::size_t>(i)]);
  return static_cast<double>(rounds) * std::max(block_seconds, step);
}

// The smallest batch that is about as fast as the fastest: it represents a plateau, whose larger
// batches would say the same with longer blocks.
std::int64_t fastest(const Decision& decision) {
  constexpr double about_as_fast = 1 - roughness.front();
  double best = 0;
  for (const BatchSpeed& speed : decision.speeds)
    best = std::max(best, speed.samples_per_second.mean);
  return std::ranges::find_if(decision.speeds,
                              [&](const BatchSpeed& speed) {
                                return speed.samples_per_second.mean >= about_as_fast * best;
                              })
      ->batch;
}

// The speed that the line through the two largest batches promises one step further up; 0 where
// there is no further one.
double promised_above(const Evidence& evidence, const Range& range, const Limits& limits) {
  const auto& measured = evidence.times.batches;
  if (limits.divisor_of || measured.size() < 2) return 0;
  const auto largest = static_cast<double>(measured.back());
  const auto next = further_up(runnable_octaves(evidence, range, limits), largest, 2 * largest);
  return next ? LastLine(evidence.times).speed(static_cast<double>(*next)) : 0;
}

// Unmeasured ones only of the coarse scan, until step times are finely known.
std::vector<std::int64_t> may_enter_rounds(std::vector<std::int64_t> sizes,
                                           const Evidence& evidence, const Range& range,
                                           const Limits& limits) {
  if (!evidence.is_fine())
    std::erase_if(sizes, [&, coarse = octaves(range, limits)](std::int64_t size) {
      return !evidence.knows(size) && !std::ranges::binary_search(coarse, size);
    });
  return sizes;
}

// Sizes whose measurement may save something, as far as they may enter, the most likely first. In
// rounds, energy is read separately, once per batch: more rounds would not add to it.
std::vector<std::pair<double, std::size_t>> promising_sizes(
    const Losses& known, std::size_t answer, const std::vector<std::int64_t>& may_enter,
    const Evidence& evidence, Objective objective) {
  std::vector<std::pair<double, std::size_t>> promising;
  for (std::size_t i = 0; i < known.sizes().size(); ++i) {
    const std::int64_t size = known.sizes()[i];
    const bool is_read = objective == Objective::energy && evidence.rounds.contains(size) &&
                         evidence.powers.contains(size);
    if (i == answer || is_read || !std::ranges::binary_search(may_enter, size)) continue;
    double gain = known.gain(i, answer);
    if (!evidence.knows(size)) gain = std::max(gain, known.surprise(i, answer));
    if (gain >= worth_measuring) promising.emplace_back(gain, i);
  }
  std::ranges::sort(promising, std::greater());
  return promising;
}

}  // namespace

std::optional<std::int64_t> next_to_scout(const Evidence& evidence, const Range& range,
                                          const Limits& limits, bool with_care) {
  const std::vector<std::int64_t> sizes = runnable_octaves(evidence, range, limits);
  if (sizes.empty()) return std::nullopt;
  const auto& measured = evidence.times.batches;
  if (measured.empty()) {
    // The largest allowed batch is the most likely to fail, which would reveal nothing; the middle
    // of a narrow range is far enough from both ends to show the effect of the batch.
    const double middle = std::sqrt(static_cast<double>(limits.min)) *
                          std::sqrt(static_cast<double>(std::max(limits.min, limits.max)));
    const double first = std::min(0.99 * middle, static_cast<double>(first_batch));
    const auto distance = [first](std::int64_t batch) {
      return std::abs(std::log(static_cast<double>(batch) / first));
    };
    return *std::ranges::min_element(sizes, {}, distance);
  }
  // Down first: it is cheap, and fixes the line. Not with a given global batch: its update takes
  // longer the smaller its parts. A run that needs care is not cheap.
  if (!with_care && !limits.divisor_of &&
      static_cast<double>(measured.front()) >= worth_an_end * static_cast<double>(sizes.front()))
    return sizes.front();
  if (with_care && !limits.divisor_of) return upwards_with_care(evidence, sizes, limits.tolerance);
  return upwards(evidence, range, sizes, limits.tolerance);
}

std::optional<std::int64_t> next_above(const Evidence& evidence, const Range& range,
                                       const Limits& limits, const Decision& decision) {
  const auto& measured = evidence.times.batches;
  if (limits.divisor_of || measured.size() < 2) return std::nullopt;
  const auto largest = static_cast<double>(measured.back());
  const std::vector<std::int64_t> sizes = runnable_octaves(evidence, range, limits);
  const auto next = further_up(sizes, largest, 2 * largest);
  if (!next) return std::nullopt;
  // Kernels suit powers of two: the answer is not compared with an odd size at the edge of memory
  // alone.
  const auto round =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(measured.back())));
  if (evidence.repeats && round > measured.back() && round <= 2 * decision.batch &&
      std::ranges::binary_search(sizes, round))
    return round;
  const double gain = LastLine(evidence.times).gain(static_cast<double>(*next));
  const double promised =
      (1 + gain) * std::ranges::find(decision.speeds, measured.back(), &BatchSpeed::batch)
                       ->samples_per_second.mean;
  const double shortfall = 1 - decision.chosen().samples_per_second.mean / promised;
  // A line through two batches promises too little if the curve bends later: for an answer that it
  // would put nearly outside the tolerance, a noticeable gain is enough.
  constexpr double noticeable = roughness.front();
  if (gain <= noticeable || shortfall <= limits.tolerance - noticeable) return std::nullopt;
  return next;
}

NextBatches next_batches(const Evidence& evidence, const Range& range, const Limits& limits) {
  const stats::StepModel model(evidence.times);
  const Losses known = losses(model, evidence, range, limits);
  const auto& sizes = known.sizes();
  const double promised = evidence.repeats ? promised_above(evidence, range, limits) : 0;
  const std::size_t answer = best_answer(known, evidence, range, limits, promised);
  NextBatches found;
  found.decision = decision_of(known, answer, evidence);
  const std::vector<std::int64_t> may_enter = may_enter_rounds(sizes, evidence, range, limits);
  const auto promising = promising_sizes(known, answer, may_enter, evidence, limits.objective);
  const auto add = [&](std::size_t i) {
    if (found.batches.size() < most_in_rounds &&
        std::ranges::find(found.batches, sizes[i]) == found.batches.end())
      found.batches.push_back(sizes[i]);
  };
  const auto& measured = evidence.times.batches;
  const auto place = [&](std::int64_t batch) {
    return static_cast<std::size_t>(std::ranges::lower_bound(sizes, batch) - sizes.begin());
  };
  const std::int64_t plateau = fastest(found.decision);
  add(answer), add(place(plateau));
  double seconds = 0;
  for (const std::int64_t batch : measured) seconds += seconds_in_rounds(evidence, batch);
  const auto had_its_share = [&](std::int64_t batch, double share) {
    return rounds_of(evidence, batch) >= least_rounds &&
           seconds_in_rounds(evidence, batch) >= share * seconds;
  };
  // The ends fix the line, and are rarely answers.
  for (const std::int64_t end : {measured.front(), measured.back()})
    if (!had_its_share(end, end_share)) add(place(end));
  // Half and twice the answer and the fastest are always measured: what the answer is compared with
  // must not depend on the path of the search.
  std::vector<std::int64_t> entering;
  for (const std::int64_t middle : {plateau, found.decision.batch})
    for (const double factor : {2.0, 0.5})
      if (const auto next = nearest(may_enter, factor * static_cast<double>(middle));
          next && rounds_of(evidence, *next) < least_rounds && range.fits(*next) &&
          (evidence.knows(*next) || measured.size() + entering.size() < most_batches) &&
          std::ranges::find(entering, *next) == entering.end()) {
        entering.push_back(*next);
        add(place(*next));
      }
  const bool complete = entering.empty();
  // The next tune should give the same answer: what decides the answer is measured until it is
  // clear.
  std::vector<std::size_t> open = open_questions(known, answer, evidence);
  const auto is_out = [&](std::size_t i) {  // no further run would make it the answer
    return i != answer &&
           known.speed(i).samples_per_second.mean < (1 - limits.tolerance) * promised;
  };
  std::erase_if(open, is_out);
  for (const std::size_t i : open) add(i), found.unclear.push_back(sizes[i]);
  // And what it is compared with: any batch that may be the fastest.
  if (!open.empty())
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (known.is_fastest(i) > open_share) {
        found.unclear.push_back(sizes[i]);
        if (!had_its_share(sizes[i], side_share)) add(i);
      }
  for (const auto& [gain, i] : promising) {
    if (evidence.knows(sizes[i])) {
      add(i);
      if (gain >= worth_a_run && !is_out(i)) found.unclear.push_back(sizes[i]);
      continue;
    }
    if (!range.fits(sizes[i])) continue;
    if (!found.unmeasured && gain >= worth_a_run) found.unmeasured = sizes[i];
    if (measured.size() + entering.size() >= most_batches) continue;
    entering.push_back(sizes[i]);
    add(i);
  }
  const auto between = evidence.is_fine() && limits.objective != Objective::energy
                           ? inside_bounds(found.decision, evidence, range, sizes)
                           : std::optional<std::int64_t>();
  if (between) add(place(*between));
  found.settled = promising.empty() && complete && !between && open.empty();
  std::ranges::sort(found.batches);
  return found;
}

}  // namespace sweetspot::search
