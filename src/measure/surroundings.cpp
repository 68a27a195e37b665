#include "measure/surroundings.h"

#include <algorithm>
#include <chrono>

#include "probe/cpu/speed.h"

namespace sweetspot::measure {
namespace {

constexpr double disturbing_share = 0.1, noticeable_share = 0.05, slower_share = 0.15;

class ThisMachine final : public Surroundings {
 public:
  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  double seconds_since_1970() override {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  probe::proc::Load load() override { return probe::proc::load(); }
  double speed() override { return probe::cpu::speed(); }
};

}  // namespace

Surroundings& this_machine() {
  static ThisMachine machine;
  return machine;
}

Look look(Surroundings& surroundings) {
  Look look;
  look.speed = surroundings.speed();
  surroundings.best_speed = std::max(surroundings.best_speed, look.speed);
  look.load = surroundings.load();
  look.now = surroundings.now();
  return look;
}

trial::Contention contention(const Look& before, const Look& after, double best_speed) {
  const probe::proc::Disturbance found =
      probe::proc::between(before.load, after.load, after.now - before.now);
  trial::Contention contention;
  contention.cpu_pressure_share = found.pressure_share;
  contention.other_cpu_share = found.other_cpu_share;
  const double slow = std::min(before.speed, after.speed);
  if (slow > 0) contention.speed_change_share = 1 - slow / std::max(before.speed, after.speed);
  const double others = found.other_cpu_share.value_or(0);
  contention.contended =
      others > disturbing_share ||
      (found.pressure_share.value_or(0) > disturbing_share && others > noticeable_share) ||
      (slow > 0 && slow < (1 - slower_share) * best_speed);
  return contention;
}

}  // namespace sweetspot::measure
