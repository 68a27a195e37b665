#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "convergence/critical_batch.h"
#include "trial/trial.h"

namespace sweetspot::report {

// The result of `tune --critical-batch`.
struct CriticalBatchAnswer {
  std::string study;  // its number in the store
  std::string workload, status, message;
  double epochs = 0;  // before the checkpoint
  double checkpoint_loss = 0;
  std::optional<stats::Interval> noise_scale;  // at the checkpoint
  std::int64_t samples = 0;                    // of each branch
  double tolerance = 0.05;
  std::string learning_rate_rule;
  std::optional<convergence::CriticalBatch> found;
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0;
  double seconds = 0;
};

// "The critical batch of paper-cnn on mnist after 1 epoch is 512 (370 to 640 over 3 seeds); …".
// Empty if nothing was found.
std::string critical_batch_sentence(const CriticalBatchAnswer& answer);
// One screen: the sentence, the noise scale, and a row per batch.
std::string critical_batch_text(const CriticalBatchAnswer& answer);
// The object of `--json`, schema_version first.
nlohmann::ordered_json critical_batch_json(const CriticalBatchAnswer& answer);

}  // namespace sweetspot::report
