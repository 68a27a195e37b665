#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::report {

// The measured trials of each batch at its fastest setting; a setting counts by the mean of its
// trials. As in the search, what was measured in company counts only where a setting has no other:
// of a batch either all are contended or none.
using TrialsOfBatch = std::map<std::int64_t, std::vector<const trial::Trial*>>;
TrialsOfBatch fastest_by_batch(std::span<const trial::Trial> trials);

double mean_samples_per_second(const std::vector<const trial::Trial*>& trials);

}  // namespace sweetspot::report
