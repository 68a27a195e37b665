#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "report/paper/judgement.h"
#include "search/knee.h"
#include "stats/independent.h"

namespace sweetspot::report::paper {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();
// "Almost the same": a fifth less, or as much more. "Significant": at least a tenth less.
constexpr double almost_the_same = 0.8, significantly_less = 0.9;
constexpr double as_fast_as_the_fastest = 0.05;
constexpr const char* two_batches = "it takes two batches that could be trained";

std::string duration(double seconds) { return core::format_duration(core::Seconds(seconds)); }

// The largest batch's training time as a share of the smallest one's.
struct Change {
  stats::Interval ratio;
  std::string words;
};
std::optional<Change> change(const Curve& curve) {
  if (!curve.has_two_batches()) return std::nullopt;
  const Point &small = curve.smallest(), &large = curve.largest();
  const stats::Interval at_small = curve.epoch_seconds(small),
                        at_large = curve.epoch_seconds(large);
  const auto ratio = stats::ratio(at_large, at_small);
  if (!ratio) return std::nullopt;
  return Change{*ratio, fmt::format("an epoch takes {} at batch {} and {} at batch {}: {}",
                                    duration(at_small.mean), small.batch, duration(at_large.mean),
                                    large.batch, times(*ratio))};
}

Claim by_change(Claim claim, const Curve& curve, double low, double high) {
  const auto found = change(curve);
  if (!found) return claim.evidence = two_batches, claim;
  claim.verdict = between(found->ratio, low, high);
  claim.evidence = found->words;
  return claim;
}

const Point& fastest(const Curve& curve) {
  return *std::ranges::min_element(
      curve.points, {}, [&](const Point& point) { return curve.epoch_seconds(point).mean; });
}

// The smallest batch that is as fast as the fastest.
const Point& knee(const Curve& curve) {
  std::vector<double> epochs_per_second;
  for (const Point& point : curve.points)
    epochs_per_second.push_back(1 / curve.epoch_seconds(point).mean);
  return curve.points[search::knee(epochs_per_second, as_fast_as_the_fastest)];
}

}  // namespace

Claim flat_on_cpu(const Curve& cpu) {
  return by_change({.id = "cpu-flat",
                    .says = "On a CPU the training time remains almost the same as the batch grows",
                    .source = "Figures 3 and 5"},
                   cpu, almost_the_same, 1 / almost_the_same);
}

Claim falls_on_gpu(const Curve& gpu) {
  return by_change({.id = "gpu-falls",
                    .says = "On a GPU the training time falls significantly as the batch grows",
                    .source = "Figure 7"},
                   gpu, 0, significantly_less);
}

Claim flat_on_cluster_gpu(const Curve& gpu) {
  return by_change({.id = "cluster-gpu-flat",
                    .says = "On the cluster's GPU a larger batch brings no significant improvement",
                    .source = "Figure 11"},
                   gpu, significantly_less, no_limit);
}

Claim until_800_on_gpu(const Curve& gpu, const std::vector<std::int64_t>& batches) {
  constexpr std::int64_t from = 700, to = 900;  // "around 800", by steps of 100
  Claim claim{
      .id = "gpu-until-800", .says = "That gain tapers off around batch 800", .source = "Figure 7"};
  const auto asked = [&](std::int64_t batch) { return std::ranges::count(batches, batch) > 0; };
  if (!asked(from) || !asked(to) || !gpu.at(from) || !gpu.at(to) || gpu.largest().batch <= to)
    return claim.evidence =
               "it takes the batches on both sides of 800, which only the full run has",
           claim;
  const Point& found = knee(gpu);
  const stats::Interval ratio =
      stats::ratio(gpu.epoch_seconds(found), gpu.epoch_seconds(fastest(gpu)))
          .value_or(stats::Interval{});
  const bool around = found.batch >= from && found.batch <= to;
  claim.verdict = around ? Verdict::holds : Verdict::does_not_hold;
  claim.evidence = fmt::format(
      "batch {} is the smallest within 5% of the fastest, batch {}: an epoch takes {} "
      "times as long",
      found.batch, fastest(gpu).batch, times(ratio));
  return claim;
}

Claim linear_in_epochs(const Curve& curve, const std::string& device, int epochs) {
  constexpr double tolerance = 0.1;
  Claim claim{.id = device + "-linear",
              .says = fmt::format("On a {} the training time is linear in the epochs",
                                  device == "cpu" ? "CPU" : "GPU"),
              .source = device == "cpu" ? "Figures 3 and 5" : "Figure 7"};
  std::vector<double> ratios;
  for (const Point& point : curve.points)
    ratios.insert(ratios.end(), point.first_epoch_ratios.begin(), point.first_epoch_ratios.end());
  const auto found = stats::independent_mean(ratios);
  if (!found) return claim.evidence = "it takes two runs of several epochs", claim;
  claim.verdict = between(*found, (1 - tolerance) * epochs, (1 + tolerance) * epochs);
  claim.evidence = fmt::format("{} epochs take {} as long as the first one, over {} runs", epochs,
                               times(*found), ratios.size());
  return claim;
}

Claim five_epochs_beat_one(const Curve& gpu) {
  constexpr std::int64_t small = 100, large = 1000;
  constexpr std::size_t epochs = 5;
  Claim claim{.id = "five-at-1000",
              .says = "On a GPU five epochs at batch 1000 are faster than one at batch 100",
              .source = "Figure 7"};
  const Point *few = gpu.at(small), *many = gpu.at(large);
  if (!few || !many || many->seconds.size() < epochs)
    return claim.evidence = "it takes five epochs at batches 100 and 1000", claim;
  stats::Interval five = gpu.epoch_seconds(*many);
  for (double* part : {&five.mean, &five.low, &five.high}) *part *= epochs;
  const stats::Interval one = gpu.epoch_seconds(*few);
  const auto ratio = stats::ratio(five, one);
  if (!ratio) return claim.evidence = "no time was measured", claim;
  claim.verdict = between(*ratio, 0, 1);
  claim.evidence = fmt::format("five epochs at 1000 take {}, one at 100 takes {}: {}",
                               duration(five.mean), duration(one.mean), times(*ratio));
  return claim;
}

Claim cpu_takes_much_longer(const Curve& cpu, const Curve& gpu) {
  constexpr double much = 2;
  Claim claim{.id = "cpu-slower",
              .says = "On a CPU training takes much longer than on a GPU",
              .source = "Figures 3 and 7"};
  std::optional<stats::Interval> least;
  std::int64_t at = 0;
  for (const Point& point : cpu.points)
    if (const Point* other = gpu.at(point.batch))
      if (const auto ratio = stats::ratio(cpu.epoch_seconds(point), gpu.epoch_seconds(*other));
          ratio && (!least || ratio->mean < least->mean))
        least = ratio, at = point.batch;
  if (!least) return claim.evidence = "it takes a batch that both have trained", claim;
  claim.verdict = between(*least, much, no_limit);
  claim.evidence = fmt::format("at least {} as long, at batch {}", times(*least, 1), at);
  return claim;
}

}  // namespace sweetspot::report::paper
