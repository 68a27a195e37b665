#include "workload/native/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/text.h"
#include "engine/cpu/cpu.h"
#include "workload/native/epochs.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;
using engine::Precision;

constexpr std::size_t compared_steps = 400, fewest_steps = 50;
constexpr core::Seconds most_time{3};  // for fp32; the others take the same number of steps
constexpr std::size_t windows = 10;
constexpr double mean_share = 0.05, fall_share = 0.01;
constexpr double about_as_fast = 0.95;

// The mean of each tenth.
std::vector<double> window_means(std::span<const double> losses) {
  std::vector<double> means;
  const std::size_t count = std::min(windows, losses.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i * losses.size() / count, to = (i + 1) * losses.size() / count;
    const auto part = losses.subspan(from, to - from);
    means.push_back(std::accumulate(part.begin(), part.end(), 0.0) /
                    static_cast<double>(part.size()));
  }
  return means;
}

struct Curve {
  std::vector<double> losses;
  double samples_per_second = 0;
};

Curve train_curve(const Run& run, const Options& options, std::size_t steps, core::Seconds limit) {
  const std::atomic<int> never_stopped = 0;
  const auto epochs = make_epochs(run, options, never_stopped);
  Curve curve;
  double timed_seconds = 0;
  std::int64_t timed_samples = 0;
  std::uint32_t epoch = 0;
  epochs->start(epoch);
  const auto begin = Clock::now();
  while (curve.losses.size() < steps &&
         (curve.losses.size() < fewest_steps || Clock::now() - begin < limit)) {
    const auto start = Clock::now();
    const auto updates = epochs->next(static_cast<std::int64_t>(steps - curve.losses.size()));
    const core::Seconds taken = Clock::now() - start;
    if (updates.empty()) {
      epochs->start(++epoch);
      continue;
    }
    const bool warm = curve.losses.size() >= steps / windows;
    for (const Update& update : updates) {
      curve.losses.push_back(update.result.loss);
      if (warm) timed_samples += update.samples;
    }
    if (warm) timed_seconds += taken.count();
  }
  if (timed_seconds > 0)
    curve.samples_per_second = static_cast<double>(timed_samples) / timed_seconds;
  return curve;
}

// The most exact first.
std::vector<Precision> precisions_of(const Device& device) {
  if (device.gpu) return {std::begin(engine::precisions), std::end(engine::precisions)};
  if (engine::cpu::backend().bf16.empty()) return {Precision::fp32};
  return {Precision::fp32, Precision::bf16};
}

std::string words(const PrecisionTried& tried) {
  return fmt::format(
      "{} {} samples/s{}", name(tried.precision), core::format_count(tried.samples_per_second),
      tried.precision == Precision::fp32 ? ""
      : tried.agrees() ? fmt::format(" at {:.0f}% of that distance", 100 * tried.distance)
                       : " and too far off");
}

std::string reason_for(Precision chosen, std::span<const PrecisionTried> tried, std::size_t steps,
                       std::int64_t batch) {
  std::string list;
  for (const PrecisionTried& each : tried) list += (list.empty() ? "" : ", ") + words(each);
  return fmt::format(
      "{} is the fastest precision whose loss stays with fp32's: over {} steps at batch {} from "
      "the "
      "same weights, in each tenth within 5% of fp32's mean and 1% of its fall ({})",
      name(chosen), steps, batch, list);
}

}  // namespace

double curve_distance(std::span<const double> fp32, std::span<const double> other) {
  const std::size_t count = std::min(fp32.size(), other.size());
  const std::vector<double> exact = window_means(fp32.first(count)),
                            tried = window_means(other.first(count));
  if (exact.empty()) return std::numeric_limits<double>::infinity();
  const double fall = std::max(0.0, exact.front() - *std::ranges::min_element(exact));
  double worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double allowed = mean_share * std::abs(exact[i]) + fall_share * fall;
    const double apart = std::abs(tried[i] - exact[i]) / allowed;
    if (!std::isfinite(apart)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, apart);
  }
  return worst;
}

Precision pick(std::span<const PrecisionTried> tried) {
  double fastest = 0;
  for (const PrecisionTried& each : tried)
    if (each.agrees()) fastest = std::max(fastest, each.samples_per_second);
  for (const PrecisionTried& each : tried)
    if (each.agrees() && each.samples_per_second >= about_as_fast * fastest) return each.precision;
  return Precision::fp32;
}

std::optional<std::string> why_bf16_changes_nothing(const Run& run, std::int64_t batch) {
  Options options = run.options;
  options.pipeline.batch = batch;
  engine::TrainerOptions trainer = trainer_options(options, run.network);
  std::vector<std::string> implementations[2];
  for (const bool rounds : {false, true}) {
    trainer.precision = rounds ? Precision::bf16 : Precision::fp32;
    const auto plan = engine::cpu::plan(run.network, trainer, options.micro_batch(), false);
    for (const engine::Operation& operation : plan->operations())
      implementations[rounds].push_back(operation.implementation);
  }
  if (implementations[0] != implementations[1]) return std::nullopt;
  return fmt::format("the CPU trains in fp32: at batch {} no layer of {} would be faster in bf16",
                     batch, core::printable(run.network.name));
}

PrecisionChoice choose_precision(const Run& run, std::int64_t batch) {
  const std::vector<Precision> candidates = precisions_of(run.options.device);
  if (candidates.size() == 1)
    return {Precision::fp32,
            fmt::format("the CPU trains in fp32: {}", engine::cpu::backend().bf16_reason)};
  if (!run.options.device.gpu)
    if (const auto reason = why_bf16_changes_nothing(run, batch)) return {Precision::fp32, *reason};
  Options options = run.options;
  options.pipeline.batch = batch;
  options.pipeline.drop_last = true;
  options.evaluate = false;
  check(options);
  std::vector<PrecisionTried> tried;
  std::vector<double> exact;
  for (const Precision precision : candidates) {
    options.precision = precision;
    const bool first = tried.empty();
    const Curve curve =
        train_curve(run, options, first ? compared_steps : exact.size(),
                    first ? most_time : core::Seconds(std::numeric_limits<double>::infinity()));
    if (first) exact = curve.losses;
    tried.push_back({precision, curve.samples_per_second, curve_distance(exact, curve.losses)});
  }
  const Precision chosen = pick(tried);
  return {chosen, reason_for(chosen, tried, exact.size(), batch)};
}

}  // namespace sweetspot::workload::native
