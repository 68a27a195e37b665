#pragma once
#include <optional>
#include <string>

#include "study/loop.h"

namespace sweetspot::study {

// How long the answer is run to confirm it.
struct Confirm {
  std::optional<std::int64_t> steps;  // nullopt: an epoch
};
std::string words(const Confirm& confirm);  // "200 steps", "an epoch"

// The result of that run.
struct Lasted {
  std::int64_t steps = 0;
  trial::Outcome outcome = trial::Outcome::ok;
  std::optional<core::Bytes> memory;  // its peak
  std::string note;
};
struct EpochOf {
  std::int64_t size = 1;  // of a batch, or of a micro-batch if the batch is given
  std::optional<std::int64_t> steps_of_program;  // per epoch, as the program counts them
};
// Runs a setting for the requested time; an epoch ends with an evaluation. nullopt if the loop
// stored no trial of it.
std::optional<Lasted> run_to_confirm(Loop& loop, workload::Workload& workload,
                                     const Confirm& confirm, const trial::Setting& setting,
                                     const EpochOf& epoch);

}  // namespace sweetspot::study
