#pragma once
#include <cmath>
#include <functional>

#include "measure/measure.h"
#include "measure/surroundings.h"

namespace sweetspot::measure {

// A clock that only the workload moves, and a machine that does nothing else.
struct StillMachine : Surroundings {
  double time = 1000;
  trial::MachineSpeed speed_now{1e9, 1e9};
  std::function<void()> waited;
  probe::proc::Load load_now;
  double now() override { return time; }
  double seconds_since_1970() override { return 1.7e9 + time; }
  probe::proc::Load load() override { return load_now; }
  trial::MachineSpeed speed() override { return speed_now; }
  std::unique_ptr<Meter> meter(const std::string&) override { return nullptr; }
  void wait(double seconds) override {
    time += seconds;
    if (waited) waited();
  }
};

// Step n (from 0) as `script` says; each moves the clock by its seconds.
struct ScriptedWorkload : workload::Workload {
  using Script = std::function<trial::Step(std::int64_t n, const trial::Setting&)>;
  ScriptedWorkload(StillMachine& its_machine, Script its_script)
      : machine(its_machine), script(std::move(its_script)) {}

  struct ScriptedSession : workload::Session {
    ScriptedSession(ScriptedWorkload& its_workload, const trial::Setting& its_setting)
        : workload(its_workload), setting(its_setting) {
      ++workload.open_sessions;
    }
    ~ScriptedSession() override { --workload.open_sessions; }
    trial::Step step() override {
      const trial::Step step = workload.script(n++, setting);
      workload.machine.time += step.seconds;
      return step;
    }
    std::optional<core::MemoryByUse> memory_by_use() const override {
      return core::MemoryByUse{{1000, 0, 0, static_cast<core::Bytes>(n), 0, 0}};
    }
    bool computes_on_cpus() const override { return true; }
    workload::Account close() override {
      workload::Account account;
      account.note = workload.note;
      return account;
    }
    ScriptedWorkload& workload;
    trial::Setting setting;
    std::int64_t n = 0;
  };

  std::string name() const override { return "scripted"; }
  std::optional<core::Bytes> predict(const trial::Setting& setting) const override {
    return static_cast<core::Bytes>(100 * setting.batch);
  }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    return std::make_unique<ScriptedSession>(*this, setting);
  }

  StillMachine& machine;
  Script script;
  std::string note;  // of each session's account
  int open_sessions = 0;
};

inline trial::Step step_of(double seconds, std::int64_t samples) {
  trial::Step step;
  step.seconds = seconds;
  step.samples = samples;
  return step;
}

// Noise without randomness: −1 to 1, evenly spread over any few steps.
inline double wobble(std::int64_t n) {
  const double golden = 0.6180339887 * static_cast<double>(n);
  return 2 * (golden - std::floor(golden)) - 1;
}

}  // namespace sweetspot::measure
