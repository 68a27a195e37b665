#include <algorithm>
#include <cmath>
#include <limits>

#include "advise/advise.h"

namespace sweetspot::advise {
namespace {

// Two digits: no rule is more exact, and command lines are read by people.
double rounded(double rate) {
  const double places = 1 - std::floor(std::log10(rate)), scale = std::pow(10, std::abs(places));
  return places > 0 ? std::round(rate * scale) / scale : std::round(rate / scale) * scale;
}

}  // namespace

std::optional<core::Interval> noise_scale(const Recommendation& made) {
  if (!made.noise) return std::nullopt;
  return made.noise->later ? made.noise->later : made.noise->start;
}

std::optional<double> times_noise_scale(const Recommendation& made) {
  constexpr double far = 4;  // where three of four samples gain almost nothing
  const auto noise = noise_scale(made);
  const auto batch = static_cast<double>(made.setting.batch);
  if (!noise || !(noise->mean > 0) || noise->high >= batch || batch < far * noise->mean)
    return std::nullopt;
  return batch / noise->mean;
}

LearningRate learning_rate_for(const LearningRateBase& base, std::int64_t batch,
                               const std::optional<core::Interval>& noise) {
  LearningRate found;
  found.base = base;
  if (noise && noise->mean > 0) found.noise_scale = noise->mean;
  found.rule =
      base.rule.value_or(convergence::default_rule(base.adaptive, found.noise_scale.has_value()));
  if (!found.noise_scale) found.rule = convergence::rule_without_noise(found.rule);
  const double exact =
      convergence::learning_rate(found.rule, base.rate, static_cast<double>(base.batch),
                                 static_cast<double>(batch), found.noise_scale);
  found.by_rule = found.rate =
      batch == base.batch || exact == base.rate ? base.rate : rounded(exact);
  return found;
}

void choose_among_tried(LearningRate& rate) {
  constexpr double clearly = 0.95;
  const auto loss = [](const trial::RateRun& run) {
    return run.loss.value_or(std::numeric_limits<double>::infinity());
  };
  const auto best = std::ranges::min_element(rate.tried, {}, loss);
  const auto own = std::ranges::find(rate.tried, rate.by_rule, &trial::RateRun::learning_rate);
  if (best == rate.tried.end() || own == rate.tried.end() || !best->loss) return;
  if (loss(*best) < clearly * loss(*own)) rate.rate = best->learning_rate;
}

}  // namespace sweetspot::advise
