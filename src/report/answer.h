#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "trial/trial.h"

namespace sweetspot::report {

// Everything that a study's result says, in whichever form.
struct Answer {
  std::string study;     // its number in the store
  std::string workload;  // "paper-cnn on mnist"
  std::string status;    // found, nothing_feasible, budget, stopped, store_failed, finished
  std::string message;   // why there is no recommendation, or why it ended early; may be empty
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0;  // of them, how many were there before this run
  double seconds = 0;       // of this run
  std::optional<advise::Recommendation> recommendation;
  std::string command;  // that trains as recommended
  advise::Facts facts;
  std::string environment_json;  // an object
  std::string program, machine;  // that measured it; may be empty
  double started_at = 0;         // seconds since 1970; 0 when unknown
};

// The trials with their diagnosis, by batch.
struct Row {
  const trial::Trial* trial = nullptr;
  std::optional<advise::Bottleneck> bottleneck;
};
std::vector<Row> rows(const Answer& answer);

// What the trials alone say: the fastest batch, and the smallest within the tolerance of it.
struct Measured {
  std::int64_t best_batch = 0, knee_batch = 0;
  double best_samples_per_second = 0, knee_samples_per_second = 0;
};
std::optional<Measured> measured(const Answer& answer);
std::optional<Measured> measured(const std::map<std::int64_t, double>& samples_per_second_of_batch,
                                 double tolerance);

}  // namespace sweetspot::report
