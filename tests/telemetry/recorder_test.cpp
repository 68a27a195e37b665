#include "telemetry/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "measure/made_up.h"
#include "words.h"

namespace sweetspot::telemetry {
namespace {

using measure::measure;
using measure::ScriptedMeter;
using measure::ScriptedWorkload;
using measure::step_of;
using measure::StillMachine;
using trial::Reading;

struct SampledMachine : StillMachine {
  SampledMachine() { reading_interval_seconds = 0; }
  std::unique_ptr<Meter> meter(const std::string& device) override {
    asked_for = device;
    return std::move(next);
  }
  std::unique_ptr<ScriptedMeter> next = std::make_unique<ScriptedMeter>();
  std::string asked_for;
};

trial::Trial told(Recorder& recorder) {
  trial::Trial trial;
  recorder.tell(trial);
  return trial;
}

TEST(Recorder, ReadsAtTheBeginAroundTheStepsAndAtTheEnd) {
  SampledMachine machine;
  Recorder recorder(std::move(machine.next), machine, machine.time - 1);
  machine.time += 1, recorder.begin_steps();
  machine.time += 1, recorder.end_steps();
  machine.time += 1;
  const trial::Trial trial = told(recorder);
  ASSERT_EQ(trial.trace.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(trial.trace[i].at_seconds, static_cast<double>(i + 1));
  EXPECT_EQ(trial.trace[0].utilisation_share, 0.5);
  EXPECT_EQ(trial.trace[0].memory, 100u);
}

TEST(Recorder, EnergyIsPowerOverTheStepsAlone) {
  SampledMachine machine;
  Recorder recorder(std::move(machine.next), machine, machine.time);  // 0 W
  machine.time += 5, recorder.begin_steps();                          // 10 W
  machine.time += 1, recorder.end_steps();                            // 20 W
  machine.time += 5;
  EXPECT_NEAR(told(recorder).energy_joules.value(), 15, 1e-9);
}

TEST(Recorder, ACounterOfEnergyCountsOnceItIsExactEnough) {
  for (const double seconds : {1.9, 2.1}) {
    SampledMachine machine;
    machine.next->counter = [joules = 100.0]() mutable { return joules += 7; };
    Recorder recorder(std::move(machine.next), machine, machine.time);
    recorder.begin_steps();
    machine.time += seconds;
    recorder.end_steps();
    EXPECT_NEAR(told(recorder).energy_joules.value(), seconds < 2 ? 15 * seconds : 7, 1e-9);
  }
}

TEST(Recorder, EnergyIsUnknownWithoutPower) {
  SampledMachine machine;
  machine.next->script = [](int) { return Reading{}; };
  Recorder recorder(std::move(machine.next), machine, machine.time);
  recorder.begin_steps();
  machine.time += 1;
  recorder.end_steps();
  EXPECT_FALSE(told(recorder).energy_joules);
}

TEST(Recorder, ReadsOnByItselfMeanwhile) {
  SampledMachine machine;
  machine.reading_interval_seconds = 1e-3;
  std::promise<void> read_often;
  machine.next->script = [&](int n) {
    if (n == 5) read_often.set_value();
    return Reading{};
  };
  Recorder recorder(std::move(machine.next), machine, machine.time);
  read_often.get_future().wait();
  EXPECT_GE(told(recorder).trace.size(), 7u);
}

TEST(Recorder, ALongTrialKeepsFewerReadingsNotNone) {
  SampledMachine machine;
  machine.reading_interval_seconds = 1e-6;
  std::promise<void> read_often;
  machine.next->script = [&](int n) {
    if (n == 5000) read_often.set_value();
    Reading reading;
    reading.memory = static_cast<core::Bytes>(n);
    return reading;
  };
  Recorder recorder(std::move(machine.next), machine, machine.time);
  read_often.get_future().wait();
  const trial::Trial trial = told(recorder);
  EXPECT_GE(trial.trace.size(), 2048u);
  EXPECT_LE(trial.trace.size(), 4096u);
  EXPECT_EQ(trial.trace[0].memory, 0u);
  EXPECT_GE(trial.trace[1].memory, 2u) << "every second one is left, or fewer";
}

TEST(Recorder, IsPartOfATrial) {
  SampledMachine machine;
  machine.next->with.throttle.thermal = true;
  ScriptedWorkload workload(machine, [](auto, const auto& s) { return step_of(0.01, s.batch); });
  const std::atomic<int> stop = 0;
  const trial::Trial trial = measure(workload, {.batch = 4}, {}, {}, {stop}, machine);
  EXPECT_EQ(machine.asked_for, "cpu");
  ASSERT_EQ(trial.trace.size(), 4u);
  EXPECT_EQ(trial.trace[0].at_seconds, 0);
  EXPECT_NEAR(trial.trace[1].at_seconds, 0.01 * static_cast<double>(trial.warm_up_steps), 1e-9);
  EXPECT_NEAR(trial.trace[3].at_seconds, trial.seconds, 1e-9);
  EXPECT_NEAR(trial.energy_joules.value(), 15 * 0.01 * static_cast<double>(trial.steps), 1e-9);
  EXPECT_TRUE(trial.contention.contended);
  EXPECT_WORDS(trial.contention.reason);
}

TEST(Recorder, ATrialThatFailsKeepsItsReadings) {
  SampledMachine machine;
  ScriptedWorkload workload(machine, [](std::int64_t n, const auto& s) {
    if (n == 4) throw std::bad_alloc();
    return step_of(1, s.batch);
  });
  const std::atomic<int> stop = 0;
  const trial::Trial trial = measure(workload, {.batch = 4}, {}, {}, {stop}, machine);
  EXPECT_EQ(trial.outcome, trial::Outcome::out_of_memory);
  EXPECT_GE(trial.trace.size(), 2u);
  EXPECT_FALSE(trial.energy_joules);
}

TEST(CpuMeter, KnowsThisProcess) {
  const auto meter = make_cpu_meter();
  const Reading first = meter->read();
  EXPECT_FALSE(first.utilisation_share) << "of no time at all";
  EXPECT_GT(first.memory.value_or(0), 100'000u);
}

}  // namespace
}  // namespace sweetspot::telemetry
