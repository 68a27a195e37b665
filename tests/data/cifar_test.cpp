#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/sources.h"
#include "data/support.h"
#include "words.h"

namespace sweetspot::data {
namespace {

constexpr std::size_t pixels = 32 * 32;

// A record whose red plane is all `red`, the green one all `red` + 1, the blue one all `red` + 2.
void add(Bytes& batch, std::uint8_t label, std::uint8_t red) {
  batch.push_back(label);
  for (int channel = 0; channel < 3; ++channel)
    batch.insert(batch.end(), pixels, static_cast<std::uint8_t>(red + channel));
}

class Cifar : public testing::Test {
 protected:
  Cifar() {
    Bytes first, second, test;
    add(first, 3, 10);
    add(first, 9, 20);
    add(second, 0, 30);
    add(test, 5, 40);
    write_file(folder / "data_batch_1.bin", first);
    write_file(folder / "data_batch_2.bin", second);
    write_file(folder / "test_batch.bin", test);
    write_text(folder / "batches.meta.txt", "airplane\n");
  }
  std::string refusal() const {
    return failure_of([&] { read_folder(folder.path()); });
  }
  TemporaryFolder folder;
};

TEST_F(Cifar, PlanesBecomePixels) {
  const Dataset dataset = read_folder(folder.path());
  EXPECT_EQ(dataset.classes, 10);
  EXPECT_EQ(dataset.train.count, 3u);
  EXPECT_EQ(dataset.test.count, 1u);
  EXPECT_EQ(dataset.train.channels, 3);
  EXPECT_THAT(dataset.train.labels, testing::ElementsAre(3, 9, 0));
  const auto pixel = dataset.train.bytes.begin() + 2 * 3 * pixels + 3 * 77;  // of the third image
  EXPECT_THAT(Bytes(pixel, pixel + 3), testing::ElementsAre(30, 31, 32));
}

TEST_F(Cifar, RefusesFilesThatAreNotLikeThat) {
  Bytes test;
  add(test, 10, 0);
  write_file(folder / "test_batch.bin", test);
  EXPECT_WORDS(refusal());
  test.pop_back();
  write_file(folder / "test_batch.bin", test);
  EXPECT_WORDS(refusal());
  std::filesystem::remove(folder / "test_batch.bin");
  EXPECT_WORDS(refusal());
}

}  // namespace
}  // namespace sweetspot::data
