#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "search/search.h"
#include "study/batch_use_check.h"
#include "trial/trial.h"
#include "workload/workload.h"

namespace sweetspot::study {

class Loop;

// What a search varies: the batch, with everything else as in `base`; or, if the batch is given,
// the micro-batch, and the accumulation with it. The search itself knows only sizes.
struct Axis {
  trial::Setting base;
  std::optional<std::int64_t> global_batch;

  trial::Setting at(std::int64_t size) const;
  std::int64_t size(const trial::Setting& setting) const;
  // A trial with its size in place of the batch; nullopt if it is not on this axis.
  std::optional<trial::Trial> sized(const trial::Trial& trial) const;
  // Those that are.
  std::vector<trial::Trial> on(const std::vector<trial::Trial>& trials) const;
};

// The memory of a whole run at each size on an axis, if the workload can predict it, cached:
// planning a large network takes milliseconds and the search asks often. What cannot be planned at
// all does not fit.
search::Predict predictor(const workload::Workload& workload, const Axis& axis);

// An axis with what is known on it. What follows from its trials is computed once, when it is asked
// for, until a trial is added or grows, the limits change, or how its settings are switched.
class AxisState {
 public:
  AxisState(workload::Workload& workload, const Axis& axis);

  const Axis& axis() const { return axis_; }
  // Where it may be searched. A clamp lowers its upper end.
  void set_limits(const search::Limits& limits);
  search::Limits limits() const;
  // Takes the loop's trials as they are now, and checks whether the program uses its batch.
  void update(Loop& loop);
  // No larger batch follows: a possible clamp is one. False if that makes no difference.
  bool settle(Loop& loop);

  // With their size in place of the batch.
  const std::vector<trial::Trial>& trials() const { return trials_; }
  const search::Predict& predict() const { return predict_; }
  const search::Plan& plan();
  // Samples per second of the fastest batch, by its own measurements alone.
  std::optional<double> best_measured() const;
  const BatchUseCheck& batch_use() const { return batch_use_; }

 private:
  void look(Loop& loop);

  workload::Workload* workload_;
  Axis axis_;
  search::Limits limits_;
  search::Predict predict_;
  BatchUseCheck batch_use_;
  // The first `fixed_` of the trials are the loop's before `taken_`, and do not change.
  std::vector<trial::Trial> trials_;
  std::size_t taken_ = 0, fixed_ = 0;
  std::uint64_t revision_ = 0;  // of the loop's trials
  std::optional<search::Plan> plan_;
  bool planned_in_place_ = false;
};

}  // namespace sweetspot::study
