#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/shown_study.h"

namespace sweetspot::report {

// All trials of one batch of a series.
struct SeriesPoint {
  std::int64_t batch = 1;
  std::size_t trials = 0;  // that were measured
  std::optional<trial::Interval> samples_per_second;
  std::optional<core::Bytes> memory_predicted, memory_measured;
  std::optional<trial::PhaseSeconds> phase_shares;  // of a mean step, in [0, 1]
  std::optional<double> joules_per_sample;          // the mean of its trials
};

// Accuracy after this many epochs, over the seeds.
struct EpochPoint {
  std::int64_t batch = 1;
  int epoch = 1;
  std::size_t seeds = 0;
  std::optional<trial::Interval> test_accuracy;  // without width for one seed
  trial::Interval train_seconds;                 // from the beginning to the end of this epoch
};

// A curve (see speeds.h) as charts show it.
struct Series {
  std::string name;  // its distinguishing part: "2 workers"; empty if it is the only one
  std::vector<SeriesPoint> points;  // ascending by batch
  std::optional<advise::StepCost> cost;
  std::vector<EpochPoint> epochs;
};
std::vector<Series> series(const ShownStudy& study);

}  // namespace sweetspot::report
