// The real data set. scripts/setup fetches it before the tests run.
#include <gtest/gtest.h>

#include <numeric>

#include "data/sources.h"

namespace sweetspot::data {
namespace {

std::vector<int> label_counts(const Samples& samples) {
  std::vector<int> counts(10);
  for (const std::int32_t label : samples.labels) ++counts.at(static_cast<std::size_t>(label));
  return counts;
}

TEST(RealMnist, IsTheOneEverybodyKnows) {
  ASSERT_TRUE(is_fetched("mnist")) << "MNIST is not in the cache; run scripts/setup first";
  verify("mnist");
  const Dataset mnist = read_folder(cache_folder("mnist"));
  EXPECT_EQ(mnist.classes, 10);
  EXPECT_EQ(mnist.train.count, 60'000u);
  EXPECT_EQ(mnist.test.count, 10'000u);
  EXPECT_NO_THROW(require_fits(mnist, 28, 28, 1, 10));
  EXPECT_EQ(label_counts(mnist.train),
            (std::vector<int>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  EXPECT_EQ(label_counts(mnist.test),
            (std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  const double sum = std::accumulate(mnist.train.bytes.begin(), mnist.train.bytes.end(), 0.0);
  EXPECT_NEAR(sum / 255 / static_cast<double>(mnist.train.bytes.size()), 0.1307, 0.0001);
}

}  // namespace
}  // namespace sweetspot::data
