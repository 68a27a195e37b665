#include "measure/lookout.h"

#include <algorithm>

namespace sweetspot::measure {
namespace {

constexpr double least_block_seconds = 0.02;
// A block is so many times as long as a look that nothing interrupts.
constexpr double looks_a_block = 300;

}  // namespace

Lookout::Lookout(Surroundings& surroundings, const trial::MachineSpeed& first)
    : surroundings_(surroundings), last_(first), fastest_(first), looks_{first} {}

double Lookout::block_seconds() const {
  return std::max(least_block_seconds, looks_a_block * look_seconds_);
}

bool Lookout::calm_since_last() {
  const double start = surroundings_.now();
  const trial::MachineSpeed now = surroundings_.speed();
  const double took = surroundings_.now() - start;
  look_seconds_ = look_seconds_ > 0 ? std::min(look_seconds_, took) : took;
  surroundings_.yardstick.saw(now, surroundings_.now());
  const Yardstick& yardstick = surroundings_.yardstick;
  fastest_ = trial::fastest(fastest_, now);
  looks_.push_back(now);
  const bool calm = !yardstick.is_slow(last_) && !yardstick.is_slow(now);
  if (calm) {
    calm_sum_.arithmetic += now.arithmetic, calm_sum_.exchange += now.exchange;
    ++calm_looks_;
  }
  last_ = now;
  return calm;
}

trial::MachineSpeed Lookout::calm() const {
  if (calm_looks_ == 0) return {};
  const auto count = static_cast<double>(calm_looks_);
  return {calm_sum_.arithmetic / count, calm_sum_.exchange / count};
}

}  // namespace sweetspot::measure
