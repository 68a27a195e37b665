#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "data/loader.h"

namespace sweetspot::data {
namespace {

using testing::ElementsAre;

Samples shape(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Samples samples;
  samples.height = height, samples.width = width, samples.channels = channels;
  return samples;
}

TEST(Image, BytesBecomeSharesAndFloatsStay) {
  const std::vector<std::uint8_t> bytes{0, 51, 255};
  const std::vector<float> floats{-3, 0.5f, 1000};
  std::vector<float> out(3);
  place_image(shape(1, 3, 1), {}, bytes.data(), out.data());
  EXPECT_THAT(out, ElementsAre(0.0f, 51 * (1.0f / 255), 1.0f));
  place_image(shape(1, 3, 1), {}, floats.data(), out.data());
  EXPECT_EQ(out, floats);
}

TEST(Image, ShiftsBringInZeros) {
  const std::vector<float> image{1, 2, 3,  //
                                 4, 5, 6,  //
                                 7, 8, 9};
  std::vector<float> out(9, -1);
  place_image(shape(3, 3, 1), {1, 0}, image.data(), out.data());
  EXPECT_THAT(out, ElementsAre(0, 0, 0, 1, 2, 3, 4, 5, 6));
  place_image(shape(3, 3, 1), {-1, 0}, image.data(), out.data());
  EXPECT_THAT(out, ElementsAre(4, 5, 6, 7, 8, 9, 0, 0, 0));
  place_image(shape(3, 3, 1), {0, 1}, image.data(), out.data());
  EXPECT_THAT(out, ElementsAre(0, 1, 2, 0, 4, 5, 0, 7, 8));
  place_image(shape(3, 3, 1), {1, -2}, image.data(), out.data());
  EXPECT_THAT(out, ElementsAre(0, 0, 0, 3, 0, 0, 6, 0, 0));
}

TEST(Image, ChannelsMoveTogether) {
  const std::vector<std::uint8_t> image{255, 0, 0, 255};  // two pixels of two channels
  std::vector<float> out(4);
  place_image(shape(1, 2, 2), {0, 1}, image.data(), out.data());
  EXPECT_THAT(out, ElementsAre(0, 0, 1, 0));
}

TEST(Image, RandomShiftsReachTwoPixelsEachWay) {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    const Shift by = random_shift(shape(28, 28, 1), 1000, 3, sample);
    seen.insert({by.down, by.right});
    EXPECT_LE(std::abs(by.down), 2);
    EXPECT_LE(std::abs(by.right), 2);
  }
  EXPECT_EQ(seen.size(), 25u);
}

TEST(Image, RandomShiftsSpareSmallImages) {
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    const Shift vector = random_shift(shape(1, 1, 100), 1000, 0, sample);
    EXPECT_TRUE(vector.down == 0 && vector.right == 0);
    const Shift small = random_shift(shape(2, 3, 1), 1000, 0, sample);
    EXPECT_EQ(small.down, 0);
    EXPECT_LE(std::abs(small.right), 1);
  }
}

}  // namespace
}  // namespace sweetspot::data
