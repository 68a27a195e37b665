#include "search/knee.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sweetspot::search {
namespace {

// One probe is at most this many times the largest before it: a line through small batches is no
// ground for a step of minutes.
constexpr double most_growth = 16;
constexpr double cheap_step_seconds = 0.1, look_ahead = 4;
constexpr double dear_step_seconds = 1, least_look_ahead = 1.25;
// The chosen batch is to be within this share of the tolerance: noise takes the rest. On a smooth
// curve nothing smaller by a quarter is within the tolerance then (its loss is a third larger).
constexpr double aim = 0.9;
// What a trial has to promise: this share of throughput beyond the tolerance, or else an eighth of
// the chance to save an octave.
constexpr double worth_a_trial = 0.0025, throughput_per_octave = 0.02;
constexpr std::size_t most_probes = 10, most_failures_at_first = 4;
// After those, so many more where more than an octave below the chosen batch was passed over.
constexpr std::size_t probes_of_a_gap = 2;

double mean_speed(const stats::StepModel& model, std::int64_t batch) {
  return std::exp(stats::summary(model.throughput(batch)).mean);
}

// What is chosen if nothing more is measured.
Choice choose_now(const stats::StepModel& model, const Evidence& evidence,
                  const std::vector<std::int64_t>& sizes, double tolerance) {
  Choice choice;
  for (const auto& point : evidence.points)
    if (const double speed = mean_speed(model, point.batch); speed > choice.best_samples_per_second)
      choice.best_batch = point.batch, choice.best_samples_per_second = speed;
  // A better one may lie between two that were measured.
  double best = choice.best_samples_per_second;
  for (std::int64_t batch : sizes)
    if (batch < evidence.points.back().batch) best = std::max(best, mean_speed(model, batch));
  choice.batch = choice.best_batch, choice.samples_per_second = choice.best_samples_per_second;
  for (const auto& point : evidence.points)
    if (const double speed = mean_speed(model, point.batch);
        speed >= (1 - aim * tolerance) * best) {
      choice.batch = point.batch, choice.samples_per_second = speed;
      break;
    }
  return choice;
}

// Between which batches the knee lies.
void find_bounds(const stats::StepModel& model, const std::vector<std::int64_t>& sizes,
                 double tolerance, Choice& choice) {
  constexpr double hardly = 0.025, surely = 1 - hardly;
  choice.least_batch = choice.sure_batch = choice.best_batch;
  for (auto batch = sizes.rbegin(); batch != sizes.rend(); ++batch) {
    if (*batch >= choice.best_batch) continue;
    const double fast_enough =
        stats::probability_above(model.ratio(*batch, choice.best_batch), std::log(1 - tolerance));
    if (fast_enough >= hardly) choice.least_batch = *batch;
    if (fast_enough >= surely) choice.sure_batch = *batch;
  }
}

double largest_worth_a_look(const stats::StepModel& model, const Evidence& evidence,
                            double tolerance) {
  const double fixed_samples = model.fixed_seconds() / model.per_sample_seconds();
  const double line_knee = fixed_samples * (1 - tolerance) / tolerance;
  const auto batch_of_step = [&](double seconds) {
    return seconds / model.per_sample_seconds() - fixed_samples;
  };
  const double ahead = std::min(look_ahead * line_knee, std::max(batch_of_step(dear_step_seconds),
                                                                 least_look_ahead * line_knee));
  return std::min(std::max(ahead, batch_of_step(cheap_step_seconds)),
                  most_growth * static_cast<double>(evidence.points.back().batch));
}

// What measuring this batch may change: it may be faster than is tolerated of the chosen one, or
// be the one to choose instead, and smaller.
double score(const stats::StepModel& model, std::int64_t batch, const Choice& now,
             double tolerance) {
  double sum = stats::expected_excess(model.ratio(batch, now.batch), -std::log(1 - tolerance));
  if (batch < now.batch)
    sum +=
        throughput_per_octave *
        std::log2(static_cast<double>(now.batch) / static_cast<double>(batch)) *
        stats::probability_above(model.ratio(batch, now.best_batch), std::log(1 - aim * tolerance));
  return sum;
}

// Leaves those between a batch and the next smaller one that ran, if that is less than half of it,
// and else none.
void keep_gap_below(std::int64_t batch, const Evidence& evidence, const Range& range,
                    std::vector<std::int64_t>& sizes) {
  const auto point = std::ranges::lower_bound(evidence.points, batch, {}, &stats::StepPoint::batch);
  const std::int64_t smaller =
      point == evidence.points.begin() ? range.low : std::prev(point)->batch;
  std::erase_if(sizes, [&](std::int64_t size) {
    return 2 * smaller >= batch || size <= smaller || size >= batch;
  });
}

Next first(const std::vector<std::int64_t>& sizes, const Evidence& evidence) {
  if (sizes.empty() || evidence.failed.size() >= most_failures_at_first)
    return {std::nullopt, fmt::format("none of {} trials ran", evidence.failed.size())};
  const auto distance = [](std::int64_t batch) {
    return std::abs(std::log(static_cast<double>(batch) / first_batch));
  };
  return {*std::ranges::min_element(sizes, {}, distance), ""};
}

}  // namespace

Next next_for_knee(const Evidence& evidence, const Range& range, const Limits& limits) {
  const auto all = candidates(range, limits);
  std::vector<std::int64_t> sizes = all;
  std::erase_if(sizes, [&](std::int64_t batch) { return evidence.failed.contains(batch); });
  if (evidence.points.empty()) return first(sizes, evidence);
  const stats::StepModel model(evidence.points);
  const Choice now = choose_now(model, evidence, all, limits.tolerance);
  const std::size_t tried = evidence.points.size() + evidence.failed.size();
  if (tried >= most_probes) keep_gap_below(now.batch, evidence, range, sizes);
  if (tried >= most_probes + probes_of_a_gap) sizes.clear();
  const double highest = largest_worth_a_look(model, evidence, limits.tolerance);
  std::optional<std::int64_t> best;
  double most = worth_a_trial;
  for (std::int64_t batch : sizes) {
    if (static_cast<double>(batch) > highest && batch != range.low) continue;
    if (std::ranges::binary_search(evidence.points, batch, {}, &stats::StepPoint::batch)) continue;
    const double value = score(model, batch, now, limits.tolerance);
    if (value > most && range.fits(batch)) most = value, best = batch;
  }
  if (best) return {best, ""};
  if (tried >= most_probes) return {std::nullopt, fmt::format("{} batches were tried", tried)};
  return {std::nullopt,
          fmt::format("no other batch promises to be more than {:.3g}% faster than {}, or as fast "
                      "and smaller",
                      100 * limits.tolerance, now.batch)};
}

std::optional<Choice> choose_knee(const Evidence& evidence, const Range& range,
                                  const Limits& limits) {
  if (evidence.points.empty()) return std::nullopt;
  const stats::StepModel model(evidence.points);
  const auto sizes = candidates(range, limits);
  Choice choice = choose_now(model, evidence, sizes, limits.tolerance);
  find_bounds(model, sizes, limits.tolerance, choice);
  choice.settled = !next_for_knee(evidence, range, limits).batch;
  return choice;
}

}  // namespace sweetspot::search
