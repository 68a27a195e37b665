#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/doubt.h"
#include "study/loop.h"

namespace sweetspot::study {

// Looks after each trial whether the program uses its batch. A batch above a clamp was run as a
// smaller one: its trial is kept as refused, with what was measured, and counts again if a later
// look, or the user, says that there is none.
class ArrivalCheck {
 public:
  explicit ArrivalCheck(const workload::Workload& workload)
      : handover_(workload.batch_handover()) {}

  // `curve`: trials that differ in nothing but the batch, ours among them (by id).
  const advise::ArrivalVerdict& look(const std::vector<trial::Trial>& curve, Loop& loop);

  const advise::ArrivalVerdict& verdict() const { return verdict_; }
  // No larger batch follows: from now on, what may be a clamp is one. False when that is known.
  bool settle() { return !std::exchange(settled_, true); }
  bool is_over() const { return is_settled_doubt(verdict_); }
  // Why there is no answer, by the last look.
  std::optional<advise::Doubt> doubt() const;
  // Why this batch cannot be tried, by the last look.
  std::optional<std::string> objection(std::int64_t batch) const;

 private:
  std::optional<std::string> handover_;  // nothing: there is nothing to look for
  advise::ArrivalVerdict verdict_;
  bool settled_ = false;
  std::vector<advise::BatchSigns> signs_;
};

}  // namespace sweetspot::study
