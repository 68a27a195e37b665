#include "measure/yardstick.h"

namespace sweetspot::measure {
namespace {

// Looks and seconds after which it is judged whether the machine still is what it was, and how
// often it has to be for that, and how often its cores have to be free for it to be held strictly
// to it.
constexpr std::size_t many_looks = 64;
constexpr double long_seconds = 5, calm_share = 0.1, free_share = 0.15;
// What the faster looks show: no luck, and no disturbance either.
constexpr double upper_quarter = 0.75;

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
    best_ = trial::quantile(recent_, upper_quarter);
  else
    is_strict_ = static_cast<double>(free_) >= free_share * static_cast<double>(recent_.size());
  recent_.clear();
  calm_ = free_ = 0;
}

}  // namespace sweetspot::measure
