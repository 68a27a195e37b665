#include "workload/native/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "words.h"

namespace sweetspot::workload::native {
namespace {

using engine::cuda::Availability;
using engine::cuda::Precision;

const Availability two_gpus{{{1, "NVIDIA H200", 9, 0, 132, 1000, 13000, 13000, ""},
                             {3, "NVIDIA B200", 10, 0, 148, 2000, 13000, 13000, ""}},
                            ""};
const Availability none{{}, "no NVIDIA driver is installed; install one, or use --device cpu"};

std::string refusal(const std::string& asked, const Availability& found) {
  try {
    choose_device(asked, found);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Device, AutoIsTheFirstUsableGpuOrTheCpu) {
  const Device gpu = choose_device("auto", two_gpus);
  EXPECT_EQ(name(gpu), "cuda:1");
  EXPECT_EQ(gpu.model, "NVIDIA H200");
  EXPECT_EQ(gpu.memory, 1000u);
  EXPECT_EQ(name(choose_device("auto", none)), "cpu");
}

TEST(Device, TheCpuNeedsNoGpu) {
  EXPECT_EQ(name(choose_device("cpu", none)), "cpu");
  EXPECT_EQ(name(choose_device("cpu", two_gpus)), "cpu");
}

TEST(Device, AGpuIsTakenByItsNumber) {
  EXPECT_EQ(choose_device("cuda:3", two_gpus).model, "NVIDIA B200");
  EXPECT_EQ(choose_device("cuda:1", two_gpus).gpu, 1);
}

TEST(Device, WhatIsNotThereIsToldWithTheWayOut) {
  EXPECT_EQ(refusal("cuda", none), none.reason);
  EXPECT_WORDS(refusal("cuda:7", two_gpus));
  EXPECT_WORDS(refusal("cuda", two_gpus));  // none is 0
  EXPECT_WORDS(refusal("gpu", two_gpus));
  EXPECT_WORDS(refusal("cuda:", two_gpus));
  EXPECT_WORDS(refusal("cuda:-1", two_gpus));
  EXPECT_WORDS(refusal("cuda:x", two_gpus));
}

TEST(Device, OneCanBePlannedForThatIsNotHere) {
  const auto gpu = planned_gpu("cuda:2", 80 * core::GiB);
  ASSERT_TRUE(gpu);
  EXPECT_EQ(name(*gpu), "cuda:2");
  EXPECT_EQ(gpu->memory, 80 * core::GiB);
  EXPECT_FALSE(planned_gpu("auto", core::GiB));
  EXPECT_FALSE(planned_gpu("cpu", core::GiB));
}

TEST(Device, PrecisionsByTheirNames) {
  for (const Precision precision : engine::cuda::precisions)
    EXPECT_EQ(precision_named(std::string(name(precision))), precision);
  EXPECT_THROW(precision_named("int8"), core::InputError);
  EXPECT_THROW(precision_named("auto"), core::InputError);
}

}  // namespace
}  // namespace sweetspot::workload::native
