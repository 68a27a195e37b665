#include "collective/all_reduce_time.h"

#include <gtest/gtest.h>

#include <vector>

namespace sweetspot::collective {
namespace {

TEST(Link, AnAllReduceIsLatenciesAndBytes) {
  const Link link{1e-6, 1e9};
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 1, 1e6), 0);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 2, 1e6), 2e-6 + 1e-3);  // each half, both ways
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 4, 1e6), 4e-6 + 1.5e-3);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 5, 0), 6e-6);  // as 8 do
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 4096, 0), 24e-6);
  EXPECT_LT(all_reduce_seconds(link, 4096, 1e6), 24e-6 + 2e-3);
}

TEST(Link, IsFoundFromItsTimes) {
  const Link link{3e-6, 5e9};
  std::vector<AllReduceTime> times;
  double off = 0.97;  // as measurements are
  for (const std::int64_t ranks : {2, 4, 8})
    for (double bytes = 4; bytes < 1e8; bytes *= 4, off = 1.94 - off)
      times.push_back({ranks, bytes, off * all_reduce_seconds(link, ranks, bytes)});
  const auto found = fit_link(times);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->latency_seconds, link.latency_seconds, 0.05 * link.latency_seconds);
  EXPECT_NEAR(found->bytes_per_second, link.bytes_per_second, 0.05 * link.bytes_per_second);
}

TEST(Link, IsNotFoundFromOneSizeOrFromTimesThatFall) {
  EXPECT_FALSE(fit_link({}));
  EXPECT_FALSE(fit_link(std::vector<AllReduceTime>{{2, 1000, 1e-3}, {2, 1000, 1.1e-3}}));
  EXPECT_FALSE(fit_link(std::vector<AllReduceTime>{{2, 1000, 1e-3}, {2, 1e6, 1e-4}}));
}

TEST(ExposedTime, IsWhatBackwardDoesNotHide) {
  EXPECT_NEAR(exposed_seconds(1, 1, 0.3), 0.3, 1e-12) << "one bucket is made at the end";
  EXPECT_NEAR(exposed_seconds(1, 10, 0.05), 0.05, 1e-12) << "all but the last are hidden";
  EXPECT_NEAR(exposed_seconds(1, 10, 0.1), 0.1, 1e-12);
  // The first is made at 0.1 and nothing is hidden but what runs from there to the end.
  EXPECT_NEAR(exposed_seconds(1, 10, 1), 0.1 + 10 - 1, 1e-12);
  EXPECT_NEAR(exposed_seconds(0, 4, 0.5), 2, 1e-12);
  EXPECT_NEAR(exposed_seconds(1, 4, 0), 0, 1e-12);
}

}  // namespace
}  // namespace sweetspot::collective
