#pragma once
#include <string>

#include "trial/study.h"

namespace sweetspot::report {

// A short summary of a study, to distinguish it from others. Read from the study key; empty where
// unknown.
struct StudySummary {
  std::string name;   // that its user gave it
  std::string goal;   // "throughput", "max-batch", "accuracy=0.99", "sweep 16–4,096"
  std::string what;   // the model and its data, or the program
  std::string limit;  // "4.0 GiB, batch ≤ 256"
};
StudySummary study_summary(const trial::StudyKey& study_key);

}  // namespace sweetspot::report
