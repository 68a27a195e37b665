#pragma once
#include "advise/advise.h"

namespace sweetspot::advise {

// Whether memory explains this failure; one of SIGKILL mostly is the OOM killer's.
bool is_for_memory(trial::Outcome outcome);
// For the diagnosis: if the next batch above those that trained failed for another reason, memory
// is not what ends the range.
Facts without_other_ends(const Facts& facts, std::span<const trial::Trial> trials);

// The values of a trained batch that the diagnosis uses.
struct MeasuredBatch {
  std::int64_t batch = 1;
  double samples_per_second = 0;
  std::optional<double> data_wait_share;
};
// nullopt if nothing shows it: one batch alone does not tell a step's fixed cost from its work.
std::optional<Bottleneck> limit_of(const MeasuredBatch& measured,
                                   const std::optional<StepCost>& cost, const Facts& facts);

}  // namespace sweetspot::advise
