#pragma once
#include <cstdint>
#include <vector>

#include "sweep/sweep.h"

namespace sweetspot::sweep {

// The experiment of "Impact of Batch Size on Performance of TensorFlow Based Convolutional Neural
// Networks": batches 100 to 1000 by 100, each trained for five epochs; one run has the points of
// all five. Quick: the two ends and the middle, whose trials the full experiment then reuses.
struct PaperPlan {
  std::vector<std::int64_t> batches;
  std::vector<std::uint64_t> seeds;  // starting with the paper's
  int epochs = 5;
};
PaperPlan paper_plan(bool quick, int seeds);

// Its points at a setting that fixes everything except batch and seed.
SweepOptions paper_sweep(const PaperPlan& plan, const trial::Setting& base);

}  // namespace sweetspot::sweep
