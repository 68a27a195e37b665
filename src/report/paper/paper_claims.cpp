#include "report/paper/paper_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "report/end_points.h"
#include "report/epochs.h"
#include "search/knee.h"
#include "stats/interval.h"

namespace sweetspot::report::paper {
namespace {

Claim not_tested(Claim claim, const std::string& why) {
  claim.verdict = Verdict::not_tested;
  claim.evidence = why;
  return claim;
}

std::vector<Claim> judge_as_measured(const Experiment& experiment) {
  const std::string no_gpu = experiment.no_gpu.empty() ? "no GPU took part" : experiment.no_gpu;
  const std::string no_cpu = "the CPU took no part";
  const Device *cpu_device = experiment.cpu(), *gpu_device = experiment.gpu();
  const Curve cpu = cpu_device ? curve(*cpu_device, experiment) : Curve{};
  const Curve gpu = gpu_device ? curve(*gpu_device, experiment) : Curve{};
  const Curve& either = cpu_device ? cpu : gpu;
  const auto of_cpu = [&](Claim claim) { return cpu_device ? claim : not_tested(claim, no_cpu); };
  const auto of_gpu = [&](Claim claim) { return gpu_device ? claim : not_tested(claim, no_gpu); };
  return {
      of_cpu(flat_on_cpu(cpu)),
      of_cpu(linear_in_epochs(cpu, "cpu", experiment.epochs)),
      accuracy_falls(either),
      above(either, 0.90, "Figure 4"),
      accuracy_recovers(either, experiment.epochs),
      not_tested(
          {.id = "newer-cpu",
           .says = "A newer CPU is significantly faster, with the same patterns",
           .source = "Figures 5 and 6"},
          "there is one CPU here; sweetspot report --compare sets two machines side by side"),
      of_gpu(falls_on_gpu(gpu)),
      of_gpu(until_800_on_gpu(gpu, experiment.batches)),
      of_gpu(linear_in_epochs(gpu, "gpu", experiment.epochs)),
      of_gpu(five_epochs_beat_one(gpu)),
      of_gpu(of_cpu(cpu_takes_much_longer(cpu, gpu))),
      above(gpu_device ? gpu : cpu, 0.94, "Figure 8"),
      near_99_percent(gpu_device ? gpu : cpu),
      of_gpu(utilisation_rises(gpu)),
      of_gpu(flat_on_cluster_gpu(gpu)),
  };
}

std::string milliseconds(double seconds) { return core::format_duration(core::Seconds(seconds)); }

}  // namespace

std::vector<Claim> judge(const Experiment& experiment) {
  std::vector<Claim> claims = judge_as_measured(experiment);
  const Device *gpu = experiment.gpu(), *cpu = experiment.cpu();
  const std::vector<Claim> minima = cpu ? sharp_minima(*cpu) : std::vector<Claim>{};
  if (!gpu) {
    claims.insert(claims.end(), minima.begin(), minima.end());
    return claims;
  }
  // If a claim fails here, but would hold if a step cost what it costs elsewhere, the engine is the
  // reason.
  const std::vector<Claim> slower =
      judge_as_measured(with_slowest_steps(experiment, eager_step_seconds));
  const auto fixed = fixed_step_seconds(curve(*gpu, experiment));
  for (std::size_t i = 0; i < claims.size(); ++i)
    if (claims[i].verdict == Verdict::does_not_hold && slower[i].verdict == Verdict::holds)
      claims[i].overhead = fmt::format(
          "the engine has removed the overhead behind it: {}where PyTorch takes 2.0 to 2.4 ms for "
          "any step up to batch 1000 on an H200. Had no step here taken less than {}, it would "
          "hold: {}",
          fixed ? fmt::format("a step has a fixed cost of {} (at most {}), ",
                              milliseconds(std::max(0.0, fixed->mean)), milliseconds(fixed->high))
                : "",
          milliseconds(eager_step_seconds), slower[i].evidence);
  claims.insert(claims.end(), minima.begin(), minima.end());
  return claims;
}

namespace {

std::string with_interval(const stats::Interval& measured, int digits, const char* unit) {
  return fmt::format("{:.{}f}{} ({:.{}f} to {:.{}f})", measured.mean, digits, unit, measured.low,
                     digits, measured.high, digits);
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::does_not_hold:
      return "does_not_hold";
    case Verdict::undecided:
      return "undecided";
    case Verdict::not_tested:
      return "not_tested";
  }
  return "";
}

std::string_view words(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::does_not_hold:
      return "does not hold";
    case Verdict::undecided:
      return "undecided";
    case Verdict::not_tested:
      return "not tested here";
  }
  return "";
}

Verdict between(const stats::Interval& measured, double low, double high) {
  if (measured.low >= low && measured.high <= high) return Verdict::holds;
  if (measured.high < low || measured.low > high) return Verdict::does_not_hold;
  return Verdict::undecided;
}

std::string times(const stats::Interval& ratio, int digits) {
  return with_interval(ratio, digits, " times");
}

std::string percent(const stats::Interval& share) {
  return with_interval({100 * share.mean, 100 * share.low, 100 * share.high}, 2, "%");
}

std::string points(const stats::Interval& share) {
  return with_interval({100 * share.mean, 100 * share.low, 100 * share.high}, 2, " points");
}

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

namespace {

// The batch with the lowest accuracy after this many epochs.
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

namespace {

// The largest batch's minus the smallest's; no verdict without two seeds of each.
Claim compare_ends(Claim claim, const std::vector<EndPointRow>& rows,
                   std::vector<double> EndPointRow::*of, const char* what) {
  if (rows.size() < 2) return claim.evidence = "it takes two batches with --sharpness", claim;
  const EndPointRow &small = rows.front(), &large = rows.back();
  const auto few = stats::independent_mean(small.*of), many = stats::independent_mean(large.*of);
  claim.evidence = fmt::format("{} {} at batch {} and {} at batch {}", what, mean_words(small.*of),
                               small.setting.batch, mean_words(large.*of), large.setting.batch);
  if (!few || !many) {
    claim.evidence += "; it takes two seeds to tell (--seeds 3)";
    return claim;
  }
  claim.verdict = between(difference(*many, *few), std::numeric_limits<double>::min(),
                          std::numeric_limits<double>::infinity());
  return claim;
}

}  // namespace

std::vector<Claim> sharp_minima(const Device& device) {
  const std::vector<EndPointRow> rows = end_point_rows(device.trials);
  if (rows.empty()) return {};
  return {compare_ends({.id = "sharper-minima",
                        .says = "Larger batches end in sharper minima",
                        .source = "not in the paper; Keskar et al. 2017"},
                       rows, &EndPointRow::sharpness, "the largest eigenvalue is"),
          compare_ends({.id = "wider-gap",
                        .says = "and generalise worse: the test loss is further above the training "
                                "loss",
                        .source = "not in the paper; Keskar et al. 2017"},
                       rows, &EndPointRow::gap, "the gap is")};
}

}  // namespace sweetspot::report::paper
