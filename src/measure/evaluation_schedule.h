#pragma once
#include <cstdint>
#include <optional>

#include "trial/target.h"

namespace sweetspot::measure {

// When to check whether a run has reached its target. An evaluation of the test split costs as much
// as training on a third of its size, so it is rare far from the target; close to it, it runs after
// every further tenth of the samples, and the time is interpolated in between.
class EvaluationSchedule {
 public:
  EvaluationSchedule(const trial::Target& target, std::optional<std::int64_t> samples_in_epoch);
  std::int64_t next() const { return next_; }  // after this many samples of the run
  void evaluated(const trial::Evaluation& evaluation);

 private:
  trial::Target target_;
  std::int64_t next_ = 1;
};

}  // namespace sweetspot::measure
