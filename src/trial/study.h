#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trial/end.h"
#include "trial/trial.h"

namespace sweetspot::trial {

// Identifies a study. Two studies with the same key are one study: it is resumed.
struct StudyKey {
  std::string workload;  // "native paper-cnn on mnist": for people
  std::string json;      // everything that decides the answer, as one canonical JSON text
};

struct Environment {
  std::string program;  // "sweetspot 0.1.0 (abc1234, Release)"
  std::string machine;  // CPU model and cores
  std::string json;     // all of it, as the commands' `environment` object
};

// The running trial of a study whose trials are stored when they end.
struct Running {
  std::int64_t batch = 1;
  double started_at = 0;  // seconds since 1970

  bool operator==(const Running&) const = default;
};

struct Study {
  std::int64_t id = 0;
  StudyKey study_key;
  Environment environment;
  End end = End::running;
  double started_at = 0;
  std::optional<Running> running{};
  std::vector<Trial> trials{};  // oldest first, each as far as it was measured
  std::string answer{};         // an advise::Answer as JSON; empty: none
};

}  // namespace sweetspot::trial
