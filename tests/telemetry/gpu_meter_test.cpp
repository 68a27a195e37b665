#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/made_up.h"
#include "telemetry/contention.h"
#include "telemetry/meter.h"
#include "words.h"

namespace sweetspot::telemetry {
namespace {

using probe::gpu::Process;

struct MadeGpu : probe::gpu::Gpu {
  MadeGpu() { now.utilisation_share = 0.9, now.memory_used = 1000, now.power_watts = 300; }
  const probe::gpu::Identity& identity() const override { return its_identity; }
  probe::gpu::Reading read() const override { return now; }
  std::optional<double> energy_joules() const override { return 5; }
  std::optional<std::vector<Process>> processes() const override { return ++lists, running; }

  probe::gpu::Identity its_identity;
  probe::gpu::Reading now;
  std::optional<std::vector<Process>> running{{{7, 600, 0.8}}};
  mutable int lists = 0;
};

bool is_own(std::int64_t pid) { return pid == 7; }

TEST(GpuMeter, ReadsTheDevice) {
  MadeGpu gpu;
  const auto meter = make_gpu_meter(gpu, is_own);
  const trial::Reading reading = meter->read();
  EXPECT_EQ(reading.utilisation_share, 0.9);
  EXPECT_EQ(reading.power_watts, 300);
  EXPECT_EQ(reading.memory, 1000u);
  EXPECT_EQ(meter->energy_joules(), 5);
}

TEST(GpuMeter, OthersMemoryIsNotTheTrials) {
  MadeGpu gpu;
  gpu.running->push_back({8, 300, 0.0});
  const auto meter = make_gpu_meter(gpu, is_own);
  EXPECT_EQ(meter->read().memory, 700u);
  gpu.now.memory_used = 1500;
  EXPECT_EQ(meter->read().memory, 1200u);
  EXPECT_EQ(gpu.lists, 1) << "listing takes milliseconds";
  const GpuContention gpu_contention = meter->gpu_contention();
  EXPECT_EQ(gpu_contention.other_memory, 300u);
  EXPECT_EQ(gpu_contention.other_share, 0);
  EXPECT_FALSE(gpu_contention.others_uncounted);
}

TEST(GpuMeter, WhoIsWhoMayBeUnknown) {
  for (const auto& running :
       {std::optional<std::vector<Process>>(), std::optional(std::vector<Process>()),
        std::optional(std::vector<Process>{{99, 600, 0.8}})}) {
    MadeGpu gpu;
    gpu.running = running;
    const auto meter = make_gpu_meter(gpu, is_own);
    EXPECT_FALSE(meter->read().memory);
    EXPECT_FALSE(meter->gpu_contention().other_share);
    EXPECT_FALSE(meter->gpu_contention().other_memory);
    EXPECT_FALSE(meter->gpu_contention().others_uncounted);
  }
}

TEST(GpuMeter, KeepsWhatEverHeldTheClocksBack) {
  MadeGpu gpu;
  const auto meter = make_gpu_meter(gpu, is_own);
  gpu.now.throttle = probe::gpu::Throttle{.thermal = true};
  meter->read();
  gpu.now.throttle = probe::gpu::Throttle{.power_cap = true};
  meter->read();
  gpu.now.throttle.reset();
  EXPECT_EQ(words(meter->gpu_contention().throttle), "power cap, thermal slowdown");
}

// The verdict on other `running` processes, and on `throttle`.
trial::Contention judged(std::vector<Process> running, const probe::gpu::Throttle& throttle = {}) {
  MadeGpu gpu;
  running.push_back({7, 600, 1.0});
  gpu.running = std::move(running);
  gpu.now.throttle = throttle;
  const auto meter = make_gpu_meter(gpu, is_own);
  meter->read();
  trial::Contention contention;
  add(meter->gpu_contention(), contention);
  return contention;
}

TEST(GpuContention, AnotherProcessesUseCounts) {
  EXPECT_FALSE(judged({}).contended);
  EXPECT_FALSE(judged({{8, 100, 0.04}}).contended) << "it hardly does anything";
  const trial::Contention busy = judged({{8, 100, 0.04}, {9, 50, 0.4}});
  EXPECT_TRUE(busy.contended);
  EXPECT_WORDS(busy.reason);
  EXPECT_EQ(busy.other_gpu_memory, 150u);
}

TEST(GpuContention, OthersWhoseUseIsNotCountedCount) {
  const trial::Contention uncounted = judged({{8, 100, std::nullopt}});
  EXPECT_TRUE(uncounted.contended);
  EXPECT_FALSE(uncounted.other_gpu_share);
  EXPECT_WORDS(uncounted.reason);
}

TEST(GpuContention, HeatCountsAndAPowerCapIsOnlyNoted) {
  const trial::Contention capped = judged({}, {.power_cap = true});
  EXPECT_FALSE(capped.contended);
  EXPECT_EQ(capped.gpu_throttle, "power cap");
  EXPECT_EQ(capped.reason, "");
  const trial::Contention hot = judged({}, {.thermal = true});
  EXPECT_TRUE(hot.contended);
  EXPECT_WORDS(hot.reason);
}

}  // namespace
}  // namespace sweetspot::telemetry
