#include "measure/yardstick.h"

#include <algorithm>

namespace sweetspot::measure {
namespace {

// Looks and seconds after which it is judged whether the machine still is what it was, and how
// often it has to be for that, and how often its cores have to be free for it to be held strictly
// to it.
constexpr std::size_t many_looks = 64;
constexpr double long_seconds = 5, calm_share = 0.1, free_share = 0.15;
// What the faster looks show: no luck, and no disturbance either.
constexpr double upper_quarter = 0.75;

double quantile(const std::vector<trial::MachineSpeed>& looks, double trial::MachineSpeed::*part) {
  std::vector<double> values;
  for (const trial::MachineSpeed& look : looks) values.push_back(look.*part);
  const auto place = static_cast<std::ptrdiff_t>(upper_quarter * static_cast<double>(looks.size()));
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<std::size_t>(place)];
}

}  // namespace

bool Yardstick::is_slow(const trial::MachineSpeed& now) const {
  return trial::is_slow(
      now, best_, is_strict_ ? trial::disturbed_arithmetic_share : trial::slow_arithmetic_share);
}

void Yardstick::saw(const trial::MachineSpeed& now, double at_seconds) {
  if (last_.arithmetic > 0) best_ = trial::fastest(best_, trial::slowest(last_, now));
  last_ = now;
  if (recent_.empty()) since_seconds_ = at_seconds;
  recent_.push_back(now);
  calm_ += !trial::is_slow(now, best_);
  free_ += !trial::is_slow({now.arithmetic, 0}, best_, trial::disturbed_arithmetic_share);
  if (recent_.size() < many_looks || at_seconds - since_seconds_ < long_seconds) return;
  if (static_cast<double>(calm_) < calm_share * static_cast<double>(recent_.size()))
    best_ = {quantile(recent_, &trial::MachineSpeed::arithmetic),
             quantile(recent_, &trial::MachineSpeed::exchange)};
  else
    is_strict_ = static_cast<double>(free_) >= free_share * static_cast<double>(recent_.size());
  recent_.clear();
  calm_ = free_ = 0;
}

}  // namespace sweetspot::measure
