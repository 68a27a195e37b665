#include "measure/surroundings.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "probe/cpu/exchange.h"
#include "probe/cpu/speed.h"
#include "probe/proc/host.h"

namespace sweetspot::measure {
namespace {

constexpr double disturbing_share = 0.1, noticeable_share = 0.05;
// Arithmetic repeats itself to a percent; what passes between cores varies by a quarter in itself.
constexpr double slow_arithmetic_share = 0.15, slow_exchange_share = 0.4;
constexpr double wait_seconds = 0.1;

double share(double now, double best) { return now > 0 && best > 0 ? 1 - now / best : 0; }

bool is_slow(const Look& look, const Speed& best) {
  return look.speed && (share(look.speed->arithmetic, best.arithmetic) > slow_arithmetic_share ||
                        share(look.speed->exchange, best.exchange) > slow_exchange_share);
}

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
  Speed speed() override {
    const int cores = probe::proc::usable_cores();
    return {probe::cpu::speed(cores), probe::cpu::exchange_bytes_per_second(cores)};
  }
  void wait(double seconds) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
};

}  // namespace

Surroundings& this_machine() {
  static ThisMachine machine;
  return machine;
}

Look look(Surroundings& surroundings, bool resting) {
  Look look;
  if (resting) {
    look.speed = surroundings.speed();
    Speed& best = surroundings.best_speed;
    best.arithmetic = std::max(best.arithmetic, look.speed->arithmetic);
    best.exchange = std::max(best.exchange, look.speed->exchange);
  }
  look.load = surroundings.load();
  look.now = surroundings.now();
  return look;
}

Look look_when_calm(Surroundings& surroundings, bool resting) {
  Look found = look(surroundings, resting);
  while (is_slow(found, surroundings.best_speed) && surroundings.patience_seconds > 0) {
    surroundings.patience_seconds -= wait_seconds;
    surroundings.wait(wait_seconds);
    found = look(surroundings, resting);
  }
  return found;
}

double slower_share(const Speed& speed, const Speed& best) {
  return std::max(
      {0.0, share(speed.arithmetic, best.arithmetic), share(speed.exchange, best.exchange)});
}

trial::Contention contention(const Look& before, const Look& after, const Speed& best_speed) {
  const probe::proc::Disturbance found =
      probe::proc::between(before.load, after.load, after.now - before.now);
  trial::Contention contention;
  contention.cpu_pressure_share = found.pressure_share;
  contention.other_cpu_share = found.other_cpu_share;
  if (before.speed && after.speed)
    contention.speed_change_share = std::max(slower_share(*before.speed, *after.speed),
                                             slower_share(*after.speed, *before.speed));
  const double others = found.other_cpu_share.value_or(0);
  contention.contended =
      others > disturbing_share ||
      (found.pressure_share.value_or(0) > disturbing_share && others > noticeable_share) ||
      is_slow(before, best_speed) || is_slow(after, best_speed);
  return contention;
}

}  // namespace sweetspot::measure
