#pragma once
#include <cmath>
#include <functional>

#include "measure/measure.h"
#include "telemetry/machine.h"

namespace sweetspot::measure {

// A clock that only the workload advances, and an otherwise idle machine.
struct StillMachine : telemetry::Machine {
  double time = 1000;
  probe::cpu::SpeedReading speed_now{1e9, 1e9};
  probe::proc::Load load_now;
  std::optional<probe::proc::Scheduling> scheduling_now;
  std::function<void()> while_taking_speed;
  double now() override { return time; }
  double seconds_since_1970() override { return 1.7e9 + time; }
  probe::proc::Load load() override { return load_now; }
  std::optional<probe::proc::Scheduling> scheduling() override { return scheduling_now; }
  probe::cpu::SpeedReading speed() override {
    if (while_taking_speed) while_taking_speed();
    return speed_now;
  }
  std::unique_ptr<telemetry::Meter> meter(const std::string&) override { return nullptr; }
};

// Scripted readings; calls are counted.
struct ScriptedMeter : telemetry::Meter {
  std::function<trial::Reading(int n)> script = [](int n) {
    return trial::Reading{0, 0.5, 100, 10.0 * n};
  };
  std::function<std::optional<double>()> counter = [] { return std::optional<double>(); };
  double interval = 0.1;
  telemetry::GpuContention with;
  int reads = 0;

  trial::Reading read() override { return script(reads++); }
  std::optional<double> energy_joules() override { return counter(); }
  double energy_interval_seconds() const override { return interval; }
  telemetry::GpuContention gpu_contention() override { return with; }
};

// Step n (from 0) by `script`; each advances the clock by its seconds.
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
    trial::Step step(const workload::Until&) override {
      const trial::Step step = workload.script(n++, setting);
      workload.machine.time += step.seconds;
      return step;
    }
    workload::Seen seen() const override {
      workload::Seen seen;
      seen.memory_by_use = core::MemoryByUse{{1000, 0, 0, static_cast<core::Bytes>(n), 0, 0}};
      seen.memory = seen.memory_by_use->total();
      return seen;
    }
    workload::Account close() override {
      ++workload.closed;
      workload::Account account;
      account.note = workload.note;
      return account;
    }
    ScriptedWorkload& workload;
    trial::Setting setting;
    std::int64_t n = 0;
  };

  std::string name() const override { return "scripted"; }
  std::optional<core::Bytes> predict(const trial::Setting& setting,
                                     workload::Extent) const override {
    return static_cast<core::Bytes>(100 * setting.batch);
  }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    if (opening) opening(setting);
    ++opened;
    return std::make_unique<ScriptedSession>(*this, setting);
  }

  StillMachine& machine;
  Script script;
  std::function<void(const trial::Setting&)> opening;  // may throw
  std::string note;                                    // of each session's account
  int open_sessions = 0, opened = 0, closed = 0;
};

inline trial::Step step_of(double seconds, std::int64_t samples) {
  trial::Step step;
  step.seconds = seconds;
  step.samples = samples;
  return step;
}

// Deterministic noise: −1 to 1, evenly spread over any few steps.
inline double wobble(std::int64_t n) {
  const double golden = 0.6180339887 * static_cast<double>(n);
  return 2 * (golden - std::floor(golden)) - 1;
}

// A program with processes of its own, perhaps on GPUs, in virtual time.
struct ScriptedProgram final : ScriptedWorkload {
  struct Running final : ScriptedSession {
    Running(ScriptedProgram& its_program, const trial::Setting& its_setting)
        : ScriptedSession(its_program, its_setting), program(its_program) {}
    workload::Seen seen() const override {
      workload::Seen seen = ScriptedSession::seen();
      seen.restart_seconds = program.restart;
      seen.gpus = program.seen;
      seen.telling_seconds = program.telling;
      return seen;
    }
    ScriptedProgram& program;
  };
  using ScriptedWorkload::ScriptedWorkload;
  workload::About about() const override {
    return {.takes_real_time = false, .rests_between_steps = false};
  }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    return std::make_unique<Running>(*this, setting);
  }
  std::optional<double> restart;
  std::vector<workload::SeenGpu> seen;
  double telling = 0;
};

}  // namespace sweetspot::measure
