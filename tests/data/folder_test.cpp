#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/sources.h"
#include "data/support.h"
#include "words.h"

namespace sweetspot::data {
namespace {

// Three training images of 2×2 and two test images, in files of these names.
struct Names {
  std::string train_images = "train-images-idx3-ubyte", train_labels = "train-labels-idx1-ubyte";
  std::string test_images = "t10k-images-idx3-ubyte", test_labels = "t10k-labels-idx1-ubyte";
};

void write(const std::filesystem::path& path, const Bytes& idx) {
  write_file(path, path.extension() == ".gz" ? gzip(idx) : idx);
}

void fill(const TemporaryFolder& folder, const Names& names = {}) {
  write(folder / names.train_images, make_idx({3, 2, 2}));
  write(folder / names.train_labels, make_idx({3}, {2, 0, 1}));
  write(folder / names.test_images, make_idx({2, 2, 2}));
  write(folder / names.test_labels, make_idx({2}, {1, 4}));
}

std::string refusal(const TemporaryFolder& folder) {
  return failure_of([&] { read_folder(folder.path()); });
}

TEST(Folder, ReadsTheNamesDataSetsComeWith) {
  const std::vector<Names> all{
      {},
      {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
       "t10k-labels-idx1-ubyte.gz"},
      {"train-images.idx3-ubyte", "train-labels.idx1-ubyte", "t10k-images.idx3-ubyte",
       "t10k-labels.idx1-ubyte"},
      {"emnist-letters-train-images-idx3-ubyte.gz", "emnist-letters-train-labels-idx1-ubyte.gz",
       "emnist-letters-test-images-idx3-ubyte.gz", "emnist-letters-test-labels-idx1-ubyte.gz"},
      {"latest-train-images-idx3-ubyte", "latest-train-labels-idx1-ubyte", "test-images-idx3-ubyte",
       "test-labels-idx1-ubyte"}};
  for (const Names& names : all) {
    const TemporaryFolder folder;
    fill(folder, names);
    const Dataset dataset = read_folder(folder.path());
    EXPECT_EQ(dataset.name, folder.path().string());
    EXPECT_EQ(dataset.classes, 5);  // the largest label of both splits is 4
    EXPECT_EQ(dataset.train.count, 3u);
    EXPECT_EQ(dataset.train.height, 2);
    EXPECT_EQ(dataset.train.width, 2);
    EXPECT_EQ(dataset.train.channels, 1);
    EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{2, 0, 1}));
    EXPECT_EQ(dataset.train.bytes, (Bytes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(dataset.test.count, 2u);
    EXPECT_EQ(dataset.test.labels, (std::vector<std::int32_t>{1, 4}));
  }
}

TEST(Folder, ReadsChannels) {
  const TemporaryFolder folder;
  fill(folder);
  write(folder / "train-images-idx3-ubyte", make_idx({3, 2, 2, 3}));
  write(folder / "t10k-images-idx3-ubyte", make_idx({2, 2, 2, 3}));
  EXPECT_EQ(read_folder(folder.path()).train.channels, 3);
}

TEST(Folder, PrefersTheRawCopyOfACompressedFile) {
  const TemporaryFolder folder;
  fill(folder);
  write_text(folder / "train-images-idx3-ubyte.gz", "not gzip at all");
  EXPECT_EQ(read_folder(folder.path()).train.count, 3u);
}

TEST(Folder, RefusesAmbiguityNamingTheCandidates) {
  const TemporaryFolder folder;
  fill(folder);
  write(folder / "emnist-digits-train-images-idx3-ubyte", make_idx({3, 2, 2}));
  EXPECT_WORDS(refusal(folder));
}

TEST(Folder, NamesWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_WORDS(refusal(folder));
  fill(folder);
  std::filesystem::remove(folder / "t10k-labels-idx1-ubyte");
  EXPECT_WORDS(refusal(folder));
  EXPECT_WORDS(failure_of([&] { read_folder(folder / "absent"); }));
  EXPECT_WORDS(failure_of([&] { read_folder(folder / "train-images-idx3-ubyte"); }));
  EXPECT_WORDS(failure_of([&] { read_folder("cifar-10"); }));
}

TEST(Folder, RefusesCountsThatDiffer) {
  const TemporaryFolder folder;
  fill(folder);
  write(folder / "train-labels-idx1-ubyte", make_idx({4}));
  EXPECT_WORDS(refusal(folder));
}

TEST(Folder, RefusesSplitsOfDifferentShape) {
  const TemporaryFolder folder;
  fill(folder);
  write(folder / "t10k-images-idx3-ubyte", make_idx({2, 2, 3}));
  EXPECT_WORDS(refusal(folder));
}

TEST(Folder, RefusesImagesAndLabelsExchanged) {
  const TemporaryFolder folder;
  fill(folder);
  write(folder / "train-images-idx3-ubyte", make_idx({3}));
  EXPECT_WORDS(refusal(folder));
  fill(folder);
  write(folder / "train-labels-idx1-ubyte", make_idx({3, 2, 2}));
  EXPECT_WORDS(refusal(folder));
}

TEST(Folder, NamesTheFileThatIsCorrupt) {
  const TemporaryFolder folder;
  fill(folder);
  write_text(folder / "t10k-labels-idx1-ubyte", "junk");
  EXPECT_WORDS(refusal(folder));
}

}  // namespace
}  // namespace sweetspot::data
