#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/batch_use.h"
#include "workload/workload.h"

namespace sweetspot::study {

class Loop;

// Checks after each trial whether the program uses its batch. A batch above a clamp was run as a
// smaller one: its trial is kept as refused, with its measurements, and counts again if a later
// check, or the user, says that there is no clamp.
class BatchUseCheck {
 public:
  explicit BatchUseCheck(const workload::Workload& workload)
      : destination_(workload.about().batch_destination) {}

  // `curve`: trials that differ only in the batch, including ours (by id): they and the loop's get
  // the outcome that follows.
  void look(std::vector<trial::Trial>& curve, Loop& loop);

  const advise::BatchUseVerdict& verdict() const { return verdict_; }
  // No larger batch follows: from now on a possible clamp is one. False if that was already known,
  // or if there is nothing to check.
  bool settle() { return destination_ && !std::exchange(settled_, true); }
  bool is_over() const { return is_settled_doubt(verdict_); }
  // Why there is no answer, by the last check.
  std::optional<advise::Doubt> doubt() const;
  // Why this batch cannot be tried, by the last check.
  std::optional<std::string> objection(std::int64_t batch) const;

 private:
  std::optional<std::string> destination_;  // nullopt: there is nothing to check
  advise::BatchUseVerdict verdict_;
  bool settled_ = false;
  std::vector<advise::BatchSigns> signs_;
};

}  // namespace sweetspot::study
