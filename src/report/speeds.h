#pragma once
#include <map>
#include <optional>
#include <vector>

#include "report/shown_study.h"

namespace sweetspot::report {

// The trials that differ only in batch and seed, and the speeds of their batches: the
// recommendation's, else those that the search would use.
struct Curve {
  std::string name;                         // its distinguishing part: "2 workers"; or empty
  std::vector<const trial::Trial*> trials;  // in the order in which they were run
  std::map<std::int64_t, trial::Interval> samples_per_second;  // by batch
  std::optional<advise::StepCost> cost;
};
// The recommendation's first.
std::vector<Curve> curves(const ShownStudy& study);

// What is known of a batch at its fastest setting.
struct FastestAtBatch {
  std::int64_t batch = 1;
  trial::Interval samples_per_second;
  std::vector<const trial::Trial*> trials;  // successful ones
};
// Ascending; with a recommendation, its rows.
std::vector<FastestAtBatch> speeds(const ShownStudy& study);

// The fastest batch and the smallest within the tolerance of it; with a recommendation, the chosen
// one.
struct Measured {
  std::int64_t best_batch = 0, knee_batch = 0;
  double best_samples_per_second = 0, knee_samples_per_second = 0;
  bool contended = false;  // one of the two is known from contended trials only
};
std::optional<Measured> measured(const ShownStudy& study);

}  // namespace sweetspot::report
