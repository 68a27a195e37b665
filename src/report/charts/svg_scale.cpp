#include "report/charts/svg_scale.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::report {
namespace {

constexpr double most_linear_ticks = 6;
constexpr std::size_t most_log_ticks = 9;

// 1, 2 or 5 times a power of ten, so that a span has few enough of it.
double nice_step(double span) {
  const double rough = span / most_linear_ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

// Powers of two, every second or fourth of them where there are many.
std::vector<double> log_ticks(double from, double to) {
  std::vector<double> ticks;
  for (double factor = 2; ticks.empty() || ticks.size() > most_log_ticks; factor *= 2) {
    ticks.clear();
    const double first = std::ceil(std::log(from) / std::log(factor) - 1e-9);
    for (double tick = std::pow(factor, first); tick <= to * (1 + 1e-9); tick *= factor)
      ticks.push_back(tick);
    if (ticks.empty()) return {from, to};  // none of ours lies between
  }
  return ticks;
}

}  // namespace

SvgScale::SvgScale(const SvgAxis& axis, const std::vector<double>& values, bool from_zero,
                   double low_pixel, double high_pixel)
    : logarithmic_(axis.logarithmic), low_pixel_(low_pixel), high_pixel_(high_pixel) {
  bool any = false;
  for (const double value : values) {
    if (!std::isfinite(value) || (logarithmic_ && value <= 0)) continue;
    from_ = any ? std::min(from_, value) : value;
    to_ = any ? std::max(to_, value) : value;
    any = true;
  }
  if (!any) from_ = logarithmic_ ? 1 : 0, to_ = logarithmic_ ? 10 : 1;
  if (from_zero && !logarithmic_) from_ = std::min(from_, 0.0), to_ = std::max(to_, 0.0);
  if (axis.from) from_ = *axis.from;
  if (axis.to) to_ = *axis.to;
  if (!(from_ < to_)) {  // one value: room on both sides
    const double room = logarithmic_ ? 0 : std::max(1.0, std::abs(from_) / 2);
    to_ = logarithmic_ ? from_ * 2 : from_ + room;
    from_ = logarithmic_ ? from_ / 2 : from_ - room;
  }
  if (!axis.ticks.empty()) {
    ticks_ = axis.ticks;
    std::erase_if(ticks_, [&](double tick) { return !shows(tick); });
    return;
  }
  if (logarithmic_) {
    ticks_ = log_ticks(from_, to_);
    return;
  }
  const double step = nice_step(to_ - from_);
  if (!axis.from && from_zero) from_ = std::floor(from_ / step) * step;
  if (!axis.to && from_zero) to_ = std::ceil(to_ / step) * step;
  for (double i = std::ceil(from_ / step - 1e-9); i * step <= to_ + step * 1e-9; ++i)
    ticks_.push_back(i * step + 0.0);  // no minus before a zero
}

double SvgScale::place(double value) const { return logarithmic_ ? std::log(value) : value; }

double SvgScale::pixel(double value) const {
  const double share = (place(value) - place(from_)) / (place(to_) - place(from_));
  return low_pixel_ + share * (high_pixel_ - low_pixel_);
}

bool SvgScale::shows(double value) const {
  const double slack = logarithmic_ ? 0 : (to_ - from_) * 1e-9;
  return std::isfinite(value) && value >= from_ - slack && value <= to_ + slack;
}

}  // namespace sweetspot::report
