#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sweetspot::data {

// The samples of one split, in memory. Pixels are bytes (normalised to [0, 1] by the pipeline) or
// floats (used unchanged), channels last; the answers are class labels or target vectors.
struct Samples {
  std::size_t count = 0;
  std::int64_t height = 1, width = 1, channels = 1;
  std::vector<std::uint8_t> bytes;   // count × sample_size(), or empty
  std::vector<float> floats;         // count × sample_size(), or empty
  std::vector<std::int32_t> labels;  // count, or empty
  std::vector<float> targets;        // count × target_size, or empty
  std::int64_t target_size = 0;

  std::int64_t sample_size() const { return height * width * channels; }
};

struct Dataset {
  std::string name;  // "mnist", "synthetic", or the folder's path
  int classes = 0;   // 0 for regression
  Samples train, test;
};

// InputError, naming both shapes or the label, unless a model of this input and output width can be
// trained on the data set.
void require_fits(const Dataset& dataset, std::int64_t height, std::int64_t width,
                  std::int64_t channels, std::int64_t outputs);

}  // namespace sweetspot::data
