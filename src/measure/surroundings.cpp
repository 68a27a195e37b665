#include "measure/surroundings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/cuda/cuda.h"
#include "probe/cpu/best_speed.h"
#include "probe/cpu/pulse.h"
#include "probe/proc/host.h"

namespace sweetspot::measure {
namespace {

constexpr double disturbing_share = 0.1, noticeable_share = 0.05;
constexpr double wait_seconds = 0.1;

bool is_slow(const Look& look, const trial::MachineSpeed& best) {
  return look.speed && trial::is_slow(*look.speed, best);
}

int percent(double share) { return static_cast<int>(100 * share + 0.5); }

void note(trial::Contention& contention, const std::string& why) {
  contention.contended = true;
  contention.reason += (contention.reason.empty() ? "" : "; ") + why;
}

std::optional<double> known(double speed) {
  return speed > 0 ? std::optional(speed) : std::nullopt;
}

class ThisMachine final : public Surroundings {
 public:
  ThisMachine() {
    if (const auto known = probe::cpu::best_speed_so_far())
      written_ = {known->additions_per_second, known->exchange_bytes_per_second};
    yardstick = Yardstick(written_);
  }
  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  double seconds_since_1970() override {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  probe::proc::Load load() override { return probe::proc::load(); }
  trial::MachineSpeed speed() override {
    if (!pulse_) pulse_.emplace(probe::proc::usable_cores());
    const probe::cpu::Beat beat = pulse_->take();
    remember();
    return {beat.additions_per_second, beat.exchange_bytes_per_second};
  }
  void wait(double seconds) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  std::unique_ptr<Meter> meter(const std::string& device) override {
    if (device == "cpu") return make_cpu_meter();
    if (!gpus_) gpus_ = probe::gpu::find();
    const probe::gpu::Gpu* gpu = probe::gpu::at_bus(*gpus_, bus_of(device));
    return gpu ? make_gpu_meter(*gpu, getpid()) : nullptr;
  }

 private:
  // For the next process, what is known up to the look before.
  void remember() {
    constexpr double worth_a_write = 0.05;
    const trial::MachineSpeed& best = yardstick.best();
    const double change =
        std::max(trial::slower_share(best, written_), trial::slower_share(written_, best));
    if (best.arithmetic == 0 || (written_.arithmetic > 0 && change < worth_a_write)) return;
    probe::cpu::remember_best_speed({best.arithmetic, best.exchange});
    written_ = best;
  }
  // CUDA and the driver number their devices differently.
  static std::string bus_of(const std::string& device) {
    for (const engine::cuda::Device& found : engine::cuda::available().devices)
      if (device == fmt::format("cuda:{}", found.index)) return found.bus_id;
    return "";
  }
  std::optional<probe::gpu::Found> gpus_;
  std::optional<probe::cpu::Pulse> pulse_;
  trial::MachineSpeed written_;
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
    surroundings.yardstick.saw(*look.speed, surroundings.now());
  }
  look.load = surroundings.load();
  look.now = surroundings.now();
  return look;
}

Look look_when_calm(Surroundings& surroundings, bool resting, double patience_seconds,
                    const std::function<bool()>& hurry) {
  const double start = surroundings.now();
  Look found = look(surroundings, resting);
  while (is_slow(found, surroundings.yardstick.best()) && found.now - start < patience_seconds &&
         !hurry()) {
    surroundings.wait(wait_seconds);
    found = look(surroundings, resting);
    found.waited_seconds = found.now - start;
  }
  return found;
}

trial::Contention contention(const Look& before, const Look& after,
                             const trial::MachineSpeed& best_speed) {
  const probe::proc::Disturbance found =
      probe::proc::between(before.load, after.load, after.now - before.now);
  trial::Contention contention;
  contention.cpu_pressure_share = found.pressure_share;
  contention.other_cpu_share = found.other_cpu_share;
  contention.waited_seconds = before.waited_seconds;
  if (before.speed && after.speed) {
    contention.speed_change_share = std::max(trial::slower_share(*before.speed, *after.speed),
                                             trial::slower_share(*after.speed, *before.speed));
    const trial::MachineSpeed slowest = trial::slowest(*before.speed, *after.speed);
    contention.arithmetic_per_second = known(slowest.arithmetic);
    contention.exchange_bytes_per_second = known(slowest.exchange);
  }
  const double others = found.other_cpu_share.value_or(0);
  const double waited = found.pressure_share.value_or(0);
  if (others > disturbing_share)
    note(contention, fmt::format("other processes took {}% of the CPUs' time", percent(others)));
  else if (waited > disturbing_share && others > noticeable_share)
    note(contention, fmt::format("tasks waited for a CPU {}% of the time, and other processes took "
                                 "{}% of the CPUs' time",
                                 percent(waited), percent(others)));
  if (is_slow(before, best_speed) || is_slow(after, best_speed))
    note(contention, slower_than_it_was);
  return contention;
}

void add(const Company& company, trial::Contention& contention) {
  contention.other_gpu_share = company.other_share;
  contention.other_gpu_memory = company.other_memory;
  contention.gpu_throttle = words(company.throttle);
  if (company.other_share.value_or(0) > noticeable_share)
    note(contention, fmt::format("other processes used the GPU {}% of the time",
                                 percent(*company.other_share)));
  else if (company.others_uncounted)
    note(contention, "other processes were on the GPU");
  if (company.throttle.is_disturbance())
    note(contention, fmt::format("the GPU's clocks were held back ({})", words(company.throttle)));
}

trial::Interval widened(trial::Interval samples_per_second, const trial::Contention& contention,
                        const trial::MachineSpeed& best_speed) {
  if (!contention.contended) return samples_per_second;
  constexpr double most = 0.9;  // a tenth of a machine is no machine to speak of
  const trial::MachineSpeed speed = trial::speed_of(contention);
  double others = contention.other_cpu_share.value_or(0);
  // A program may leave the CPUs to others: what they took is then no loss to it.
  if (!contention.arithmetic_per_second)
    others = std::min(others, contention.cpu_pressure_share.value_or(others));
  const double taken =
      std::max({others, contention.other_gpu_share.value_or(0),
                trial::is_slow(speed, best_speed, trial::disturbed_arithmetic_share)
                    ? trial::slower_share(speed, best_speed)
                    : 0.0});
  samples_per_second.high /= 1 - std::min(taken, most);
  return samples_per_second;
}

}  // namespace sweetspot::measure
