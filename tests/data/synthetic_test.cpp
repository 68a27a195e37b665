#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/error.h"
#include "data/sources.h"
#include "data/support.h"

namespace sweetspot::data {
namespace {

SyntheticOptions images(std::int64_t height, std::int64_t width, std::int64_t channels,
                        int classes) {
  SyntheticOptions options;
  options.height = height, options.width = width, options.channels = channels;
  options.classes = classes;
  options.train_count = 600, options.test_count = 200;
  return options;
}

SyntheticOptions regression() {
  SyntheticOptions options = images(1, 1, 5, 0);
  options.target_size = 2;
  return options;
}

// The share of test samples that are nearest to the mean training image of their own class.
double nearest_mean_accuracy(const Dataset& dataset) {
  const auto size = static_cast<std::size_t>(dataset.train.sample_size());
  const auto classes = static_cast<std::size_t>(dataset.classes);
  std::vector<double> mean(classes * size), count(classes);
  for (std::size_t i = 0; i < dataset.train.count; ++i) {
    const auto label = static_cast<std::size_t>(dataset.train.labels[i]);
    ++count[label];
    for (std::size_t p = 0; p < size; ++p)
      mean[label * size + p] += dataset.train.bytes[i * size + p];
  }
  int right = 0;
  for (std::size_t i = 0; i < dataset.test.count; ++i) {
    std::size_t best = 0;
    double best_distance = std::numeric_limits<double>::infinity();
    for (std::size_t label = 0; label < classes; ++label) {
      double distance = 0;
      for (std::size_t p = 0; p < size; ++p) {
        const double difference =
            mean[label * size + p] / count[label] - dataset.test.bytes[i * size + p];
        distance += difference * difference;
      }
      if (distance < best_distance) best_distance = distance, best = label;
    }
    right += static_cast<std::size_t>(dataset.test.labels[i]) == best;
  }
  return right / static_cast<double>(dataset.test.count);
}

TEST(Synthetic, CanBeLearntInAnyImageShape) {
  for (const auto& options : {images(28, 28, 1, 10), images(64, 48, 3, 4), images(1, 1, 100, 7),
                              images(8, 1, 5, 3), images(9, 7, 1, 2)}) {
    const Dataset dataset = make_synthetic(options);
    EXPECT_EQ(dataset.classes, options.classes);
    EXPECT_EQ(dataset.train.count, 600u);
    EXPECT_EQ(dataset.train.bytes.size(),
              600u * static_cast<std::size_t>(dataset.train.sample_size()));
    EXPECT_EQ(
        std::set<std::int32_t>(dataset.train.labels.begin(), dataset.train.labels.end()).size(),
        static_cast<std::size_t>(options.classes));
    EXPECT_GT(nearest_mean_accuracy(dataset), 0.95) << options.height << "×" << options.width;
  }
}

TEST(Synthetic, SamplesAreNotAllAlike) {
  const Dataset dataset = make_synthetic(images(28, 28, 1, 1));
  const auto& bytes = dataset.train.bytes;
  EXPECT_FALSE(std::equal(bytes.begin(), bytes.begin() + 784, bytes.begin() + 784));
  EXPECT_FALSE(std::equal(bytes.begin(), bytes.begin() + 784, dataset.test.bytes.begin()));
}

TEST(Synthetic, SampleDoesNotDependOnTheCounts) {
  for (SyntheticOptions options : {images(5, 7, 3, 4), regression()}) {
    const Dataset many = make_synthetic(options);
    options.train_count = 10, options.test_count = 450;
    const Dataset few = make_synthetic(options);
    const auto begins_with = [](const auto& longer, const auto& shorter) {
      return std::equal(shorter.begin(), shorter.end(), longer.begin());
    };
    EXPECT_TRUE(begins_with(many.train.bytes, few.train.bytes));
    EXPECT_TRUE(begins_with(many.train.floats, few.train.floats));
    EXPECT_TRUE(begins_with(many.train.labels, few.train.labels));
    EXPECT_TRUE(begins_with(many.train.targets, few.train.targets));
    EXPECT_TRUE(begins_with(few.test.bytes, many.test.bytes));
    EXPECT_TRUE(begins_with(few.test.targets, many.test.targets));
  }
}

TEST(Synthetic, TheSeedDecides) {
  SyntheticOptions options = images(6, 6, 1, 3);
  const Dataset first = make_synthetic(options), again = make_synthetic(options);
  EXPECT_EQ(first.train.bytes, again.train.bytes);
  EXPECT_EQ(first.train.labels, again.train.labels);
  options.seed = 1001;
  EXPECT_NE(make_synthetic(options).train.bytes, first.train.bytes);
}

// Plain gradient descent finds the map; the rest is noise.
TEST(Synthetic, RegressionIsALinearMapPlusLittleNoise) {
  const Dataset dataset = make_synthetic(regression());
  const Samples& train = dataset.train;
  EXPECT_EQ(dataset.classes, 0);
  ASSERT_EQ(train.target_size, 2);
  ASSERT_EQ(train.floats.size(), 600u * 5);
  ASSERT_EQ(train.targets.size(), 600u * 2);
  double weights[2][5] = {};
  const auto residual = [&](const Samples& samples, std::size_t i, std::size_t o) {
    double y = -samples.targets[2 * i + o];
    for (std::size_t k = 0; k < 5; ++k) y += weights[o][k] * samples.floats[5 * i + k];
    return y;
  };
  for (int epoch = 0; epoch < 20; ++epoch)
    for (std::size_t i = 0; i < train.count; ++i)
      for (std::size_t o = 0; o < 2; ++o) {
        const double error = residual(train, i, o);
        for (std::size_t k = 0; k < 5; ++k) weights[o][k] -= 0.01 * error * train.floats[5 * i + k];
      }
  double left = 0, all = 0;
  for (std::size_t i = 0; i < dataset.test.count; ++i)
    for (std::size_t o = 0; o < 2; ++o) {
      left += std::pow(residual(dataset.test, i, o), 2);
      all += std::pow(dataset.test.targets[2 * i + o], 2);
    }
  EXPECT_GT(left, 0);
  EXPECT_LT(left, 0.05 * all);
}

// A map from each of many inputs to each of many outputs would cost the square of a sample's size:
// their own neighbourhood explains the targets of an autoencoder.
TEST(Synthetic, ManyTargetsReadTheInputsAroundTheirOwnPlace) {
  constexpr std::size_t size = 4096, around = 16, count = 600;
  SyntheticOptions options = regression();
  options.height = options.width = 64, options.channels = 1, options.target_size = size;
  options.train_count = count, options.test_count = 1;
  const Samples train = make_synthetic(options).train;
  const std::size_t o = size / 2, first = (size - around) * o / size;
  double variance = 0, explained = 0;
  for (std::size_t i = 0; i < count; ++i) variance += std::pow(train.targets[i * size + o], 2);
  for (std::size_t k = first; k < first + around; ++k) {
    double product = 0;
    for (std::size_t i = 0; i < count; ++i)
      product += double{train.targets[i * size + o]} * train.floats[i * size + k];
    explained += std::pow(product / count, 2);
  }
  EXPECT_NEAR(explained / (variance / count), 1, 0.25);
}

TEST(Synthetic, RefusesSizesThatCannotBe) {
  const auto refused = [](auto change) {
    SyntheticOptions options = images(28, 28, 1, 10);
    change(options);
    EXPECT_THAT(failure_of([&] { make_synthetic(options); }),
                testing::StartsWith("2: a synthetic data set"));
  };
  refused([](SyntheticOptions& o) { o.height = 0; });
  refused([](SyntheticOptions& o) { o.width = -1; });
  refused([](SyntheticOptions& o) { o.classes = -1; });
  refused([](SyntheticOptions& o) { o.classes = 0, o.target_size = 0; });
  refused([](SyntheticOptions& o) { o.train_count = 0; });
  refused([](SyntheticOptions& o) { o.height = o.width = o.channels = 1 << 30; });
  refused([](SyntheticOptions& o) { o.train_count = ~std::size_t{0}; });
}

}  // namespace
}  // namespace sweetspot::data
