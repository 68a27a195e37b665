#include "probe/nvml/nvml.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/fake_nvml/state.h"
#include "words.h"

namespace sweetspot::probe::nvml {
namespace {

// A fake driver library, kept open so that the test can set its answers.
class FakeLibrary {
 public:
  explicit FakeLibrary(const char* file) : file_(file), opened_(dlopen(file, RTLD_NOW)) {
    if (!opened_) throw std::runtime_error(dlerror());
    const auto find_state = reinterpret_cast<FakeNvml* (*)()>(dlsym(opened_, "fake_nvml_state"));
    *(state = find_state()) = {};
  }
  ~FakeLibrary() { dlclose(opened_); }
  FakeLibrary(const FakeLibrary&) = delete;
  FakeLibrary& operator=(const FakeLibrary&) = delete;

  gpu::Found find() const { return nvml::find(file_); }
  FakeNvml* state;

 private:
  const char* file_;
  void* opened_;
};

struct Nvml : testing::Test {
  FakeLibrary library{FAKE_NVML};
};

void expect_nothing(const gpu::Gpu& gpu) {
  const gpu::Reading reading = gpu.read();
  EXPECT_FALSE(reading.utilisation_share);
  EXPECT_FALSE(reading.memory_busy_share);
  EXPECT_FALSE(reading.memory_used);
  EXPECT_FALSE(reading.memory_total);
  EXPECT_FALSE(reading.power_watts);
  EXPECT_FALSE(reading.power_limit_watts);
  EXPECT_FALSE(reading.temperature_celsius);
  EXPECT_FALSE(reading.core_clock_mhz);
  EXPECT_FALSE(reading.memory_clock_mhz);
  EXPECT_FALSE(reading.throttle);
  EXPECT_FALSE(gpu.energy_joules());
  EXPECT_FALSE(gpu.processes());
}

TEST(NvmlMissing, NoLibraryIsAReason) {
  const gpu::Found found = find("libthere-is-none.so.1");
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_WORDS(found.reason);
}

TEST(NvmlMissing, ALibraryWithoutTheFirstFunctionsIsTooOld) {
  const FakeLibrary empty(FAKE_NVML_EMPTY);
  EXPECT_TRUE(empty.find().gpus.empty());
  EXPECT_WORDS(empty.find().reason);
}

TEST_F(Nvml, ReadsEverything) {
  const gpu::Found found = library.find();
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.reason, "");
  const gpu::Identity& identity = found.gpus[0]->identity();
  EXPECT_EQ(identity.vendor, "NVIDIA");
  EXPECT_EQ(identity.name, "NVIDIA Made-Up");
  EXPECT_EQ(identity.uuid, "GPU-1-2");
  EXPECT_EQ(identity.bus_id, "00000000:1B:00.0");
  EXPECT_EQ(identity.driver, "570.1");
  EXPECT_EQ(identity.mig, false);
  const gpu::Reading reading = found.gpus[0]->read();
  EXPECT_EQ(reading.utilisation_share, 0.37);
  EXPECT_EQ(reading.memory_busy_share, 0.12);
  EXPECT_EQ(reading.memory_used, 450u) << "without what the driver keeps for itself";
  EXPECT_EQ(reading.memory_total, 1000u);
  EXPECT_EQ(reading.power_watts, 450.5) << "of this moment, not of the last second";
  EXPECT_EQ(reading.power_limit_watts, 700);
  EXPECT_EQ(reading.temperature_celsius, 40);
  EXPECT_EQ(reading.core_clock_mhz, 1980);
  EXPECT_EQ(reading.memory_clock_mhz, 3201);
  EXPECT_EQ(words(*reading.throttle), "power cap");
  EXPECT_EQ(found.gpus[0]->energy_joules(), 5000.25);
}

TEST_F(Nvml, IsShutDownWithItsLastDevice) {
  {
    gpu::Found found = library.find();
    EXPECT_EQ(library.state->starts, 1);
    EXPECT_EQ(library.state->stops, 0);
  }
  EXPECT_EQ(library.state->stops, 1);
  library.state->init = Status::driver_not_loaded;
  library.find();
  EXPECT_EQ(library.state->stops, 1) << "it was not started";
}

TEST_F(Nvml, WhatIsNotSupportedIsNothing) {
  library.state->device = Status::not_supported;
  const gpu::Found found = library.find();
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.gpus[0]->identity().mig, std::nullopt);
  expect_nothing(*found.gpus[0]);
}

TEST_F(Nvml, ALostDeviceAnswersNothing) {
  const gpu::Found found = library.find();
  EXPECT_TRUE(found.gpus.at(0)->read().power_watts);
  library.state->device = Status::gpu_is_lost;
  expect_nothing(*found.gpus[0]);
  EXPECT_EQ(found.gpus[0]->identity().name, "NVIDIA Made-Up");
}

TEST_F(Nvml, ADriverThatDoesNotStartIsAReason) {
  const auto reason = [&](Status status) {
    library.state->init = status;
    return library.find().reason;
  };
  EXPECT_WORDS(reason(Status::driver_not_loaded));
  EXPECT_WORDS(reason(Status::version_mismatch));
  EXPECT_WORDS(reason(Status{999}));
}

TEST_F(Nvml, NoDeviceOrALostOneIsAReason) {
  library.state->handle = Status::gpu_is_lost;
  EXPECT_WORDS(library.find().reason);
  library.state->count = 0;
  EXPECT_WORDS(library.find().reason);
  library.state->count = 1;
  library.state->count_status = Status{999};
  EXPECT_TRUE(library.find().gpus.empty());
}

TEST_F(Nvml, FallsBackToTheAveragePower) {
  library.state->instant = Status::not_supported;
  EXPECT_EQ(library.find().gpus.at(0)->read().power_watts, 300);
}

TEST_F(Nvml, TellsADividedDevice) {
  library.state->mig = 1;
  EXPECT_EQ(library.find().gpus.at(0)->identity().mig, true);
}

TEST_F(Nvml, ListsEachProcessOnce) {
  library.state->computing = {{7, 100, 0, 0}, {8, not_available, 0, 0}};
  library.state->drawing = {{7, 100, 0, 0}, {9, 300, 0, 0}};
  library.state->used = {{7, 9'000'020, 50, 0, 0, 0},
                         {7, 9'000'010, 99, 0, 0, 0},
                         {9, 1'000'000, 80, 0, 0, 0},
                         {66, 9'000'020, 1, 0, 0, 0}};
  const auto processes = library.find().gpus.at(0)->processes();
  ASSERT_TRUE(processes);
  ASSERT_EQ(processes->size(), 3u);
  EXPECT_EQ((*processes)[0].pid, 7);
  EXPECT_EQ((*processes)[0].memory, 100u);
  EXPECT_EQ((*processes)[0].utilisation_share, 0.5) << "the newest sample";
  EXPECT_EQ((*processes)[1].pid, 8);
  EXPECT_EQ((*processes)[1].memory, std::nullopt);
  EXPECT_EQ((*processes)[1].utilisation_share, 0);
  EXPECT_EQ((*processes)[2].pid, 9);
  EXPECT_EQ((*processes)[2].utilisation_share, 0) << "that was seconds ago";
}

TEST_F(Nvml, ListsMoreProcessesThanThereWasRoomFor) {
  for (unsigned pid = 1; pid <= 300; ++pid) library.state->computing.push_back({pid, pid, 0, 0});
  EXPECT_EQ(library.find().gpus.at(0)->processes()->size(), 300u);
  library.state->computing.resize(100000);
  library.state->drawing = {{9, 300, 0, 0}};
  EXPECT_EQ(library.find().gpus.at(0)->processes()->size(), 1u) << "it gives up on an absurd list";
}

TEST(NvmlOld, FindsTheOlderNames) {
  const FakeLibrary old(FAKE_NVML_OLD);
  old.state->computing = {{7, 100, 0, 0}};
  old.state->clock_reasons = 0x20;
  const gpu::Found found = old.find();
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.gpus[0]->identity().name, "");
  EXPECT_EQ(found.gpus[0]->identity().mig, std::nullopt);
  EXPECT_EQ(found.gpus[0]->read().power_watts, 300);
  EXPECT_EQ(found.gpus[0]->read().memory_used, 600u);
  EXPECT_EQ(words(found.gpus[0]->read().throttle.value()), "thermal slowdown");
  EXPECT_EQ(found.gpus[0]->processes()->size(), 1u);
  EXPECT_EQ(found.gpus[0]->processes()->at(0).utilisation_share, std::nullopt);
  EXPECT_FALSE(found.gpus[0]->read().utilisation_share);
  EXPECT_FALSE(found.gpus[0]->energy_joules());
  old.state->init = Status{42};
  EXPECT_WORDS(old.find().reason);
}

TEST(Throttle, SaysWhatHoldsTheClocksBack) {
  EXPECT_EQ(words(throttle_of(0x1)), "") << "idle";
  EXPECT_EQ(words(throttle_of(0x4 | 0x2)), "power cap, clocks set by hand");
  EXPECT_EQ(words(throttle_of(0x8 | 0x40)), "thermal slowdown");
  EXPECT_EQ(words(throttle_of(0x8)), "hardware slowdown");
  EXPECT_EQ(words(throttle_of(0x80)), "power brake");
  EXPECT_FALSE(throttle_of(0x4 | 0x2).is_disturbance());
  for (const unsigned long long bit : {0x8, 0x20, 0x40, 0x80})
    EXPECT_TRUE(throttle_of(bit).is_disturbance()) << bit;
  gpu::Throttle both = throttle_of(0x4);
  both |= throttle_of(0x20);
  EXPECT_EQ(words(both), "power cap, thermal slowdown");
}

TEST_F(Nvml, IsFoundByItsBusHoweverThatIsWritten) {
  const gpu::Found found = library.find();
  EXPECT_EQ(at_bus(found, "0000:1b:00.0"), found.gpus[0].get());
  EXPECT_EQ(at_bus(found, "00000000:1B:00.0"), found.gpus[0].get());
  EXPECT_EQ(at_bus(found, "0000:1c:00.0"), nullptr);
  EXPECT_EQ(at_bus(found, ""), nullptr);
}

}  // namespace
}  // namespace sweetspot::probe::nvml
