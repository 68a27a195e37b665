// Tunes for energy, and over several precisions and power limits, on machines in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "study/memory_store.h"
#include "sweep/sweep.h"
#include "tuning/tune.h"
#include "words.h"

namespace sweetspot::study {
namespace {

using testing::ElementsAre;
using tests::Kept;
using tests::MemoryWriter;

// 2 ms and 10 µs a sample at 700 W; a tenth slower at a third of that. bf16 takes half as long. It
// draws its whole limit, and a fifth of that more above batch 1,024.
struct Device {
  double seconds = 0, joules = 0, limit = 700;

  static double step_seconds(const trial::Setting& setting, double watts) {
    const double base = 2e-3 + 1e-5 * static_cast<double>(setting.batch);
    return base * std::pow(700 / watts, 0.1) *
           (setting.configuration.precision == "bf16" ? 0.5 : 1);
  }
  static double watts(const trial::Setting& setting, double limit) {
    return limit * (setting.batch > 1024 ? 1 : 0.8);
  }
};

struct OnDevice final : workload::Workload {
  OnDevice(Device& its_device, bool takes_turns) : device_(its_device), takes_turns_(takes_turns) {}
  struct Session final : workload::Session {
    Session(Device& its_device, const trial::Setting& its_setting)
        : device(its_device), setting(its_setting) {}
    trial::Step step(const workload::Until&) override {
      trial::Step step;
      step.samples = setting.batch;
      step.seconds = Device::step_seconds(setting, device.limit);
      device.seconds += step.seconds;
      device.joules += step.seconds * Device::watts(setting, device.limit);
      return step;
    }
    Device& device;
    trial::Setting setting;
  };
  std::string name() const override { return "made up"; }
  std::string device() const override { return "cuda:0"; }
  workload::About about() const override { return {.samples = 8192, .takes_real_time = false}; }
  std::optional<core::Bytes> predict(const trial::Setting&, workload::Extent) const override {
    return 1;
  }
  workload::Switching switching() const override { return {.in_place = takes_turns_}; }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    return std::make_unique<Session>(device_, setting);
  }

 private:
  Device& device_;
  bool takes_turns_;
};

struct DeviceMachine final : telemetry::Machine {
  explicit DeviceMachine(Device& its_device) : device(its_device) { reading_interval_seconds = 0; }
  struct Meter final : telemetry::Meter {
    explicit Meter(Device& its_device) : device(its_device) {}
    trial::Reading read() override { return {}; }
    std::optional<double> energy_joules() override { return device.joules; }
    double energy_interval_seconds() const override { return 1e-6; }
    Device& device;
  };
  double now() override { return device.seconds; }
  double seconds_since_1970() override { return 1.7e9; }
  probe::proc::Load load() override { return {}; }
  probe::cpu::SpeedReading speed() override { return {1e9, 1e9}; }
  std::unique_ptr<telemetry::Meter> meter(const std::string&) override {
    return std::make_unique<Meter>(device);
  }
  Device& device;
};

struct Limiter final : energy::PowerLimits {
  explicit Limiter(Device& its_device) : device(its_device) {}
  void set(double watts) override { device.limit = watts, asked.push_back(watts); }
  std::optional<std::string> changed() override {
    return device.limit == meddled ? std::optional<std::string>("somebody set it") : std::nullopt;
  }
  Device& device;
  std::vector<double> asked;
  double meddled = 0;
};

struct EnergyTune : testing::Test {
  tuning::TuneResult run(bool takes_turns = true) {
    options.loop.machine = &machine;
    options.limits.max = 8192;
    options.loop.power_limits = &limiter;
    options.loop.now = [this] { return core::Seconds(device.seconds); };
    OnDevice workload(device, takes_turns);
    MemoryWriter writer(kept);
    return tune(workload, writer, options, quiet, stop);
  }
  void for_energy(double slower_at_most) {
    options.limits.objective = search::Objective::energy;
    options.limits.tolerance = slower_at_most;
  }
  void at_limits(const std::vector<double>& watts) {
    for (const double each : watts) {
      options.variants.push_back(options.base);
      options.variants.back().configuration.power_limit_watts = each;
    }
  }

  Device device;
  DeviceMachine machine{device};
  Limiter limiter{device};
  tuning::TuneOptions options;
  Kept kept;
  Observer quiet;
  std::atomic<int> stop{0};
};

// 1,024 is at 86% of the speed of 8,192, for 93% of its energy.
TEST_F(EnergyTune, TheLeastEnergyWithinWhatItMayCostInTime) {
  for_energy(0.2);
  const tuning::TuneResult result = run();
  ASSERT_EQ(result.answer.end, trial::End::found) << result.answer.message;
  const advise::Recommendation& made = *result.recommendation();
  EXPECT_EQ(made.batch, 1024);
  const double expected = 0.8 * 700 * Device::step_seconds(made.setting, 700) / 1024;
  EXPECT_NEAR(made.joules_per_sample.value(), expected, 0.02 * expected);
  EXPECT_GT(made.best_joules_per_sample.value(), *made.joules_per_sample);
  EXPECT_EQ(made.objective, search::Objective::energy);
  EXPECT_THAT(made.reasons, testing::Contains(advise::Reason::energy));
  EXPECT_EQ(tests::stored<advise::Recommendation>(kept), made);
  // The same question again is answered without a step.
  const double before = device.seconds;
  EXPECT_EQ(run().recommendation()->batch, 1024);
  EXPECT_EQ(device.seconds, before);
}

// First for those that are interleaved at the end, then for those ruled out before, as long as the
// answer need not wait for it.
TEST_F(EnergyTune, EnergyIsReadWhateverIsAskedFor) {
  const tuning::TuneResult result = run();
  ASSERT_EQ(result.answer.end, trial::End::found) << result.answer.message;
  const advise::Recommendation& made = *result.recommendation();
  std::size_t read = 0;
  for (const advise::BatchRow& row : made.rows) {
    if (row.batch == made.batch) {
      EXPECT_TRUE(row.joules_per_sample);
    }
    if (!row.joules_per_sample) continue;
    ++read;
    trial::Setting setting;
    setting.batch = row.batch;
    const double expected = Device::watts(setting, 700) * Device::step_seconds(setting, 700) /
                            static_cast<double>(row.batch);
    EXPECT_NEAR(row.joules_per_sample->mean, expected, 0.05 * expected) << row.batch;
  }
  EXPECT_GE(read, 5u);
}

TEST_F(EnergyTune, WithoutTimeToSpareItIsFaster) {
  for_energy(0.05);
  const tuning::TuneResult result = run();
  ASSERT_TRUE(result.recommendation());
  EXPECT_GT(result.recommendation()->batch, 1024);
}

// A tenth of the speed saves two thirds of the energy.
TEST_F(EnergyTune, PowerLimitsAreCurvesOfTheirOwn) {
  for_energy(0.25);
  at_limits({700, 500, 250});
  const tuning::TuneResult result = run();
  ASSERT_EQ(result.answer.end, trial::End::found) << result.answer.message;
  const advise::Recommendation& made = *result.recommendation();
  EXPECT_EQ(made.setting.configuration.power_limit_watts, 250);
  ASSERT_EQ(made.variants.size(), 3u);
  EXPECT_THAT(limiter.asked, ElementsAre(700, 500, 250));
  for (const trial::Trial& trial : result.trials)
    EXPECT_TRUE(trial.setting.configuration.power_limit_watts.has_value());
  const advise::Fastest best = fastest(made);
  ASSERT_TRUE(best.variant);
  EXPECT_EQ(best.variant->configuration.power_limit_watts, 700);
  EXPECT_EQ(tests::stored<advise::Recommendation>(kept), made);
}

TEST_F(EnergyTune, ALimitThatCostsMoreTimeThanAllowedIsNotTheAnswer) {
  for_energy(0.06);
  at_limits({700, 500, 250});  // 3% and 10% slower
  const tuning::TuneResult result = run();
  ASSERT_TRUE(result.recommendation());
  EXPECT_NE(result.recommendation()->setting.configuration.power_limit_watts, 250);
  EXPECT_GE(result.recommendation()->throughput_share, 0.93);
}

TEST_F(EnergyTune, TrialsAtALimitThatSomebodyElseChangedAreRefused) {
  for_energy(0.25);
  at_limits({700, 250});
  limiter.meddled = 250;
  const tuning::TuneResult result = run();
  ASSERT_TRUE(result.recommendation());
  EXPECT_EQ(result.recommendation()->setting.configuration.power_limit_watts, 700);
  for (const trial::Trial& trial : result.trials)
    if (trial.setting.configuration.power_limit_watts == 250) {
      EXPECT_EQ(trial.outcome, trial::Outcome::refused);
      EXPECT_EQ(trial.note, "somebody set it");
    }
}

// A workload in virtual time that runs one batch at a time reports no energy.
TEST_F(EnergyTune, EndsWithTheFirstTrialWhereNoEnergyIsTold) {
  for_energy(0.1);
  const tuning::TuneResult result = run(false);
  EXPECT_EQ(result.answer.end, trial::End::energy_unknown);
  EXPECT_WORDS(result.answer.message);
  EXPECT_EQ(result.trials.size(), 1u);
  EXPECT_EQ(kept.study.trials.size(), 1u);
}

TEST_F(EnergyTune, OfSeveralPrecisionsTheFasterIsTheAnswer) {
  for (const char* precision : {"fp32", "bf16"}) {
    options.variants.push_back(options.base);
    options.variants.back().configuration.precision = precision;
  }
  for (const bool takes_turns : {true, false}) {
    kept = {};
    const tuning::TuneResult result = run(takes_turns);
    ASSERT_TRUE(result.recommendation());
    const advise::Recommendation& made = *result.recommendation();
    EXPECT_EQ(made.setting.configuration.precision, "bf16");
    ASSERT_EQ(made.variants.size(), 2u);
    EXPECT_NEAR(made.variants[1].samples_per_second / made.variants[0].samples_per_second, 2, 0.2);
    EXPECT_THAT(made.reasons, testing::Contains(advise::Reason::precision));
    std::set<std::string> tried;
    for (const trial::Trial& trial : result.trials)
      tried.insert(trial.setting.configuration.precision);
    EXPECT_EQ(tried.size(), 2u);
  }
}

TEST_F(EnergyTune, StoppedAfterTheFirstLimitItAnswersWithThat) {
  for_energy(0.25);
  at_limits({700, 250});
  options.loop.budget = core::Seconds(3);
  const tuning::TuneResult result = run();
  EXPECT_EQ(result.answer.end, trial::End::budget);
  ASSERT_TRUE(result.recommendation());
  EXPECT_EQ(result.recommendation()->setting.configuration.power_limit_watts, 700);
  options.loop.budget.reset();
  const tuning::TuneResult resumed = run();
  EXPECT_EQ(resumed.answer.end, trial::End::found);
  EXPECT_EQ(resumed.recommendation()->setting.configuration.power_limit_watts, 250);
}

TEST_F(EnergyTune, ASweepMeasuresEachLimitByItself) {
  sweep::SweepOptions grid;
  for (const double watts : {300.0, 700.0})
    for (const std::int64_t batch : {64, 512}) {
      trial::Setting setting;
      setting.batch = batch, setting.configuration.power_limit_watts = watts;
      grid.points.push_back(setting);
    }
  grid.loop.machine = &machine;
  grid.loop.power_limits = &limiter;
  grid.loop.now = [this] { return core::Seconds(device.seconds); };
  OnDevice workload(device, true);
  MemoryWriter writer(kept);
  const Result result = sweep::sweep(workload, writer, grid, quiet, stop);
  ASSERT_EQ(result.trials.size(), 4u);
  EXPECT_THAT(limiter.asked, ElementsAre(300, 700));
  for (const trial::Trial& trial : result.trials) {
    const double watts = *trial.setting.configuration.power_limit_watts;
    const double expected = Device::watts(trial.setting, watts) *
                            Device::step_seconds(trial.setting, watts) /
                            static_cast<double>(trial.setting.batch);
    EXPECT_NEAR(trial::joules_per_sample(trial).value(), expected, 1e-6 * expected);
  }
}

}  // namespace
}  // namespace sweetspot::study
