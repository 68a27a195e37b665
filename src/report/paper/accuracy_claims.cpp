#include <fmt/format.h>

#include <limits>

#include "report/over_seeds.h"
#include "report/paper/judgement.h"

namespace sweetspot::report::paper {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

// The batch with the lowest accuracy after so many epochs.
struct Worst {
  std::int64_t batch = 0;
  stats::Interval accuracy;
};
std::optional<Worst> worst(const Curve& curve, int epochs) {
  std::optional<Worst> found;
  for (const Point& point : curve.points)
    if (const auto accuracy = curve.accuracy(point, epochs);
        accuracy && (!found || accuracy->mean < found->accuracy.mean))
      found = Worst{point.batch, *accuracy};
  return found;
}

Claim by_worst(Claim claim, const Curve& curve, int epochs, double share) {
  const auto found = worst(curve, epochs);
  if (!found)
    return claim.evidence = fmt::format("nothing was trained for {} epochs", epochs), claim;
  claim.verdict = between(found->accuracy, share, no_limit);
  claim.evidence =
      fmt::format("the lowest is {}, at batch {}", percent(found->accuracy), found->batch);
  return claim;
}

}  // namespace

Claim accuracy_falls(const Curve& curve) {
  Claim claim{.id = "accuracy-falls",
              .says = "The accuracy falls with larger batches when the epochs are few",
              .source = "Figures 4, 6 and 8"};
  if (!curve.has_two_batches()) return claim.evidence = "it takes two batches", claim;
  const Point &small = curve.smallest(), &large = curve.largest();
  const auto few = curve.accuracy(small, 1), many = curve.accuracy(large, 1);
  if (!few || !many) return claim.evidence = "no accuracy was measured", claim;
  const stats::Interval loss = difference(*few, *many);
  claim.verdict = between(loss, std::numeric_limits<double>::min(), no_limit);
  claim.evidence =
      fmt::format("after one epoch {} at batch {} and {} at batch {}: {} less", percent(*few),
                  small.batch, percent(*many), large.batch, points(loss));
  return claim;
}

Claim accuracy_recovers(const Curve& curve, int epochs) {
  Claim claim{.id = "accuracy-recovers",
              .says = "More epochs recover what the larger batch has lost",
              .source = "Figures 6 and 8"};
  if (!curve.has_two_batches() || epochs < 2)
    return claim.evidence = "it takes two batches and several epochs", claim;
  const Point &small = curve.smallest(), &large = curve.largest();
  const auto before = curve.accuracy(small, 1), after = curve.accuracy(large, epochs);
  const auto best = curve.accuracy(small, epochs);
  if (!before || !after || !best) return claim.evidence = "no accuracy was measured", claim;
  const stats::Interval gain = difference(*after, *before);
  claim.verdict = between(gain, 0, no_limit);
  claim.evidence = fmt::format(
      "batch {} has {} after {} epochs: {} above batch {} after one, and {} below it after {}",
      large.batch, percent(*after), epochs, points(gain), small.batch,
      points(difference(*best, *after)), epochs);
  return claim;
}

Claim above(const Curve& curve, double share, const std::string& source) {
  return by_worst(
      {.id = fmt::format("above-{:.0f}", 100 * share),
       .says = fmt::format("The accuracy stays above {:.0f}% even after one epoch", 100 * share),
       .source = source},
      curve, 1, share);
}

Claim near_99_percent(const Curve& curve) {
  constexpr double near = 0.985;  // what rounds to 99%
  return by_worst({.id = "near-99",
                   .says = "Five epochs bring it near 99% (at least 98.5%) at every batch",
                   .source = "Figure 8"},
                  curve, 5, near);
}

Claim utilisation_rises(const Curve& gpu) {
  constexpr double noticeable = 0.05;
  Claim claim{.id = "utilisation-rises",
              .says = "The GPU's utilisation rises with the batch",
              .source = "Figure 9"};
  if (!gpu.has_two_batches()) return claim.evidence = "it takes two batches", claim;
  const auto share = [](const Point& point) {
    const std::vector<double>& values = point.utilisation;
    if (const auto interval = mean_share(values)) return interval;
    return values.empty() ? std::nullopt
                          : std::optional(stats::Interval{values[0], values[0], values[0]});
  };
  const auto few = share(gpu.smallest()), many = share(gpu.largest());
  if (!few || !many) return claim.evidence = "the device tells no utilisation", claim;
  const stats::Interval rise = difference(*many, *few);
  claim.verdict = between(rise, noticeable, no_limit);
  claim.evidence =
      fmt::format("on average {:.0f}% at batch {} and {:.0f}% at batch {}", 100 * few->mean,
                  gpu.smallest().batch, 100 * many->mean, gpu.largest().batch);
  return claim;
}

}  // namespace sweetspot::report::paper
