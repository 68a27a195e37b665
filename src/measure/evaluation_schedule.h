#pragma once
#include <cstdint>
#include <optional>

#include "trial/target.h"

namespace sweetspot::measure {

// When to look whether a run has reached its target: an evaluation of the test split costs as much
// as training on a third of its size, so far from the target it is looked at seldom, and close to
// it after every tenth more samples, between which the time is interpolated.
class EvaluationSchedule {
 public:
  EvaluationSchedule(const trial::Target& target, std::optional<std::int64_t> samples_in_epoch);
  std::int64_t next() const { return next_; }  // after so many samples of the run
  void evaluated(const trial::Evaluation& evaluation);

 private:
  trial::Target target_;
  std::int64_t next_ = 1;
};

}  // namespace sweetspot::measure
