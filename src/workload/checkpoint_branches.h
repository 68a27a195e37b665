#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "stats/interval.h"
#include "trial/trial.h"

namespace sweetspot::workload {

// Where branches begin.
struct BranchPoint {
  double epochs = 0;                           // trained so far
  double loss = 0;                             // of the test split there
  std::optional<stats::Interval> noise_scale;  // there, in samples
};

// The result of a branch.
struct Branch {
  trial::Outcome outcome = trial::Outcome::ok;
  std::string note;  // why it is not `ok`
  std::int64_t steps = 0, samples = 0;
  double loss = 0;  // of the test split at its end
};

// "From here, train this many samples at this setting": measures a critical batch.
class Branching {
 public:
  virtual ~Branching() = default;
  virtual std::string device() const { return "cpu"; }
  virtual std::optional<core::Bytes> predict(const trial::Setting&) const { return std::nullopt; }
  // Trains up to the checkpoint; nullopt once `stop` is not zero.
  virtual std::optional<BranchPoint> begin(const std::atomic<int>& stop) = 0;
  // From the checkpoint, always the same one, with a learning rate that decays linearly from the
  // setting's to zero: at a constant one, small batches would end in the noise of their last steps
  // and look worse than they are. The setting's seed decides the order of the samples, which is the
  // same at every batch. `cancelled` once `stop` is not zero.
  virtual Branch branch(const trial::Setting&, std::int64_t samples,
                        const std::atomic<int>& stop) = 0;
};

}  // namespace sweetspot::workload
