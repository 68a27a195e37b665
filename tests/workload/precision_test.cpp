#include "workload/native/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sweetspot::workload::native {
namespace {

using engine::cuda::Precision;

// A loss that falls from 2.3 to about 0.1, each step off by up to `noise` of it.
std::vector<double> curve(double scale, double noise = 0, int phase = 0) {
  std::vector<double> losses;
  for (int i = 0; i < 400; ++i) {
    const double wobble = std::sin(12.9898 * (i + phase)) * noise;
    losses.push_back(scale * (0.1 + 2.2 * std::exp(-i / 60.0)) * (1 + wobble));
  }
  return losses;
}

TEST(CurveDistance, TheSameCurveIsAtNone) { EXPECT_EQ(curve_distance(curve(1), curve(1)), 0); }

TEST(CurveDistance, NoiseOfSingleStepsAveragesAway) {
  EXPECT_LT(curve_distance(curve(1, 0.2), curve(1, 0.2, 17)), 1);
}

TEST(CurveDistance, ALastingDifferenceDoesNot) {
  EXPECT_LT(curve_distance(curve(1), curve(1.04)), 1);
  EXPECT_GT(curve_distance(curve(1), curve(1.3)), 1);
  EXPECT_GT(curve_distance(curve(1), curve(0.7)), 1);  // a better curve is a different curve too
}

TEST(CurveDistance, ACurveThatGoesAstrayLateIsSeen) {
  std::vector<double> other = curve(1);
  for (std::size_t i = 380; i < other.size(); ++i) other[i] = 1;
  EXPECT_GT(curve_distance(curve(1), other), 1);
  other.back() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(curve_distance(curve(1), other), std::numeric_limits<double>::infinity());
}

TEST(CurveDistance, FewStepsAreComparedOneByOne) {
  const std::vector<double> exact{2.3, 2.0, 1.5}, near{2.3, 2.01, 1.52}, far{2.3, 2.0, 2.4};
  EXPECT_LT(curve_distance(exact, near), 1);
  EXPECT_GT(curve_distance(exact, far), 1);
  EXPECT_GT(curve_distance({}, {}), 1);
}

TEST(PickPrecision, TheFastestThatAgrees) {
  const PrecisionTried fp32{Precision::fp32, 100, 0}, tf32{Precision::tf32, 200, 0.4},
      bf16{Precision::bf16, 300, 0.9}, fp16{Precision::fp16, 400, 1.5};
  const std::vector<PrecisionTried> tried{fp32, tf32, bf16, fp16};
  EXPECT_EQ(pick(tried), Precision::bf16);
}

TEST(PickPrecision, TheMoreExactWhereSpeedIsAboutTheSame) {
  const std::vector<PrecisionTried> tried{{Precision::fp32, 97, 0},
                                          {Precision::tf32, 100, 0.1},
                                          {Precision::bf16, 101, 0.1},
                                          {Precision::fp16, 99, 0.1}};
  EXPECT_EQ(pick(tried), Precision::fp32);
}

TEST(PickPrecision, Fp32WhereNothingAgrees) {
  const std::vector<PrecisionTried> tried{{Precision::fp32, 10, 0}, {Precision::tf32, 100, 5}};
  EXPECT_EQ(pick(tried), Precision::fp32);
}

TEST(ChoosePrecision, TheCpuStaysInFp32WhereNoLayerWouldBeInBf16) {
  Options options;
  options.model = "mlp";
  options.data = "synthetic:20";
  options.pipeline.batch = 10;
  const native::Run run = open(options, [](std::string_view) {});
  const PrecisionChoice choice = choose_precision(run, 10);
  EXPECT_EQ(choice.precision, Precision::fp32);
  EXPECT_THAT(choice.reason, ::testing::StartsWith("the CPU trains in fp32: "));
}

}  // namespace
}  // namespace sweetspot::workload::native
