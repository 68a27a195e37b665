#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convergence/critical_batch.h"
#include "core/interval.h"

namespace sweetspot::advise {

// The answer of `tune --critical-batch`: up to which batch equal numbers of samples train equally
// far, by branches from one checkpoint.
struct CriticalBatchAnswer {
  // One batch, over the seeds.
  struct Row {
    std::int64_t batch = 1;
    std::optional<double> learning_rate;
    std::optional<std::int64_t> updates;
    std::vector<double> losses;    // of the seeds that did not diverge
    std::int64_t diverged = 0;     // seeds
    std::optional<double> ratio;   // of its loss to the smallest batch's; nullopt: all diverged
    bool within_tolerance = true;  // it is
    bool operator==(const Row&) const = default;
  };
  struct Found {
    std::int64_t batch = 1;
    bool at_least = false;  // the largest that was tried
    std::optional<core::Interval> crossing;
    bool operator==(const Found&) const = default;
  };
  double epochs = 0;  // before the checkpoint
  double checkpoint_loss = 0;
  std::optional<core::Interval> noise_scale;  // there, in samples
  std::int64_t samples = 0;                   // of each branch
  double tolerance = 0.05;
  std::string learning_rate_rule;
  std::optional<Found> found;  // nullopt: no two batches could be compared
  std::vector<Row> rows;       // ascending
  bool operator==(const CriticalBatchAnswer&) const = default;

  void set_found(const std::optional<convergence::CriticalBatch>& result);
  std::int64_t seeds() const;  // that took part
};

// "The critical batch of paper-cnn on mnist after 1 epoch is 512 (370 to 640 over 3 seeds): …".
// Empty if nothing was found.
std::string sentence(const CriticalBatchAnswer& made, const std::string& workload);
// What the noise scale at the checkpoint predicts.
std::string noise_sentence(const CriticalBatchAnswer& made);

}  // namespace sweetspot::advise
