// Rated peaks of GPUs, from the white papers' figures at their boost clocks.
#include <gtest/gtest.h>

#include "engine/cuda/cuda.h"

namespace sweetspot::engine::cuda {
namespace {

Device device(int major, int minor, int multiprocessors, double clock_hz) {
  Device made;
  made.major = major, made.minor = minor;
  made.multiprocessors = multiprocessors, made.clock_hz = clock_hz;
  return made;
}

double tera(const Device& made, Precision precision) {
  return peak_flops_per_second(made, precision).value_or(0) / 1e12;
}

TEST(GpuPeaks, AreThoseOfTheWhitePapers) {
  const Device a100 = device(8, 0, 108, 1.41e9);
  EXPECT_NEAR(tera(a100, Precision::fp32), 19.5, 0.1);
  EXPECT_NEAR(tera(a100, Precision::tf32), 156, 1);
  EXPECT_NEAR(tera(a100, Precision::bf16), 312, 1);
  const Device h100 = device(9, 0, 132, 1.83e9);
  EXPECT_NEAR(tera(h100, Precision::tf32), 494.7, 1);
  EXPECT_NEAR(tera(h100, Precision::fp16), 989.4, 1);
  const Device rtx4090 = device(8, 9, 128, 2.52e9);
  EXPECT_NEAR(tera(rtx4090, Precision::fp32), 82.6, 0.1);
  EXPECT_NEAR(tera(rtx4090, Precision::bf16), 165.2, 0.1);
}

TEST(GpuPeaks, AreUnknownWithoutAClock) {
  EXPECT_FALSE(peak_flops_per_second(device(9, 0, 132, 0), Precision::fp32));
}

}  // namespace
}  // namespace sweetspot::engine::cuda
