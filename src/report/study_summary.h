#pragma once
#include <string>

#include "trial/study.h"

namespace sweetspot::report {

// What a study was asked, in few words, so that people can tell it from others. Read from the
// question's key; empty where that does not say.
struct StudySummary {
  std::string name;   // that its user gave it
  std::string goal;   // "throughput", "max-batch", "accuracy=0.99", "sweep 16–4,096"
  std::string what;   // the model and its data, or the program
  std::string limit;  // "4.0 GiB, batch ≤ 256"
};
StudySummary study_summary(const trial::StudyKey& study_key);

}  // namespace sweetspot::report
