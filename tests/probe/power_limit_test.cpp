#include "probe/nvml/power_limit.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/fake_nvml/state.h"
#include "words.h"

namespace sweetspot::probe::nvml {
namespace {

struct PowerLimits : testing::Test {
  PowerLimits() : opened(dlopen(FAKE_NVML, RTLD_NOW)) {
    const auto find_state = reinterpret_cast<FakeNvml* (*)()>(dlsym(opened, "fake_nvml_state"));
    *(state = find_state()) = {};
  }
  ~PowerLimits() override { dlclose(opened); }
  void* opened;
  FakeNvml* state;
};

TEST_F(PowerLimits, AreReadAndSet) {
  const PowerLimitsFound found = power_limits(FAKE_NVML);
  ASSERT_EQ(found.gpus.size(), 1u);
  const PowerLimit& gpu = found.gpus[0];
  EXPECT_EQ(gpu.index(), 0u);
  EXPECT_EQ(gpu.name(), "NVIDIA Made-Up");
  EXPECT_EQ(gpu.bus_id(), "00000000:1B:00.0");
  EXPECT_EQ(gpu.range()->least_mw, 200'000u);
  EXPECT_EQ(gpu.range()->most_mw, 700'000u);
  EXPECT_EQ(gpu.now_mw(), 700'000u);
  EXPECT_EQ(gpu.set_mw(450'000), Status::ok);
  EXPECT_EQ(gpu.now_mw(), 450'000u);
}

TEST_F(PowerLimits, OfWhoMayNotStayAsTheyAre) {
  state->setting = Status::no_permission;
  const PowerLimitsFound found = power_limits(FAKE_NVML);
  EXPECT_EQ(found.gpus.at(0).set_mw(450'000), Status::no_permission);
  EXPECT_EQ(found.gpus.at(0).now_mw(), 700'000u);
}

TEST_F(PowerLimits, OfADriverWithoutThemAreNone) {
  const PowerLimitsFound old = power_limits(FAKE_NVML_OLD);
  ASSERT_EQ(old.gpus.size(), 1u);
  EXPECT_FALSE(old.gpus[0].range());
  EXPECT_FALSE(old.gpus[0].now_mw());
  EXPECT_EQ(old.gpus[0].set_mw(1), Status::not_supported);
  EXPECT_WORDS(power_limits("libthere-is-none.so.1").reason);
}

}  // namespace
}  // namespace sweetspot::probe::nvml
