#include "data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/support.h"
#include "words.h"

namespace sweetspot::data {
namespace {

Dataset letters() {
  Dataset dataset;
  dataset.name = "letters";
  dataset.classes = 27;
  for (Samples* samples : {&dataset.train, &dataset.test}) {
    samples->count = 2;
    samples->height = samples->width = 2;
    samples->bytes.resize(8);
    samples->labels = {1, 3};
  }
  dataset.test.labels[1] = 26;
  return dataset;
}

TEST(Dataset, FitsAModelOfItsShapeAndWideEnough) {
  EXPECT_NO_THROW(require_fits(letters(), 2, 2, 1, 27));
  EXPECT_NO_THROW(require_fits(letters(), 2, 2, 1, 1000));
}

TEST(Dataset, NamesBothShapesThatDiffer) {
  EXPECT_WORDS(failure_of([] { require_fits(letters(), 28, 28, 3, 27); }));
  EXPECT_WORDS(failure_of([] { require_fits(letters(), 1, 800, 1, 27); }));
  EXPECT_WORDS(failure_of([] { require_fits(letters(), 1, 1, 6, 27); }));
}

TEST(Dataset, NamesTheLabelOutOfRange) {
  EXPECT_WORDS(failure_of([] { require_fits(letters(), 2, 2, 1, 26); }));
}

TEST(Dataset, ComparesTargetsWithOutputs) {
  Dataset dataset = letters();
  for (Samples* samples : {&dataset.train, &dataset.test}) {
    samples->labels.clear();
    samples->target_size = 3;
    samples->targets.resize(6);
  }
  EXPECT_NO_THROW(require_fits(dataset, 2, 2, 1, 3));
  EXPECT_WORDS(failure_of([&] { require_fits(dataset, 2, 2, 1, 4); }));
}

}  // namespace
}  // namespace sweetspot::data
