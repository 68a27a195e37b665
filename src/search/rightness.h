#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "stats/step_model.h"

namespace sweetspot::search {

// A batch is the right answer when it is within the tolerance of the best and none smaller by a
// quarter or more is. The smallest one within the tolerance is on the edge of that, where the least
// error makes it wrong; larger ones, up to a third, are as right, and the midst of them is the
// safest. So the chance to be too slow and the chance to be too large are held against each other,
// by all that was measured and how well.
class Rightness {
 public:
  // `best`: the logarithm of the most throughput to be had, by that of `best_batch`, a measured
  // one.
  Rightness(const stats::StepModel& model, std::int64_t best_batch, double best, double tolerance);
  // What is left beside the more likely of the two ways to be wrong. `sizes`: all that may be
  // chosen, ascending.
  double of(std::int64_t batch, const std::vector<std::int64_t>& sizes);

 private:
  // How likely it is within the tolerance, and within what is aimed at.
  struct Chance {
    double within = 0, aimed = 0;
  };
  Chance chance(std::int64_t batch);

  const stats::StepModel& model_;
  std::int64_t best_batch_;
  double within_level_, aimed_level_;
  std::map<std::int64_t, Chance> known_;
};

}  // namespace sweetspot::search
