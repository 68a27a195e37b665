#pragma once
#include <cstdint>
#include <vector>

#include "search/search.h"
#include "workload/fake/fake.h"

namespace sweetspot::search {

// One random question with its truth.
struct Question {
  workload::fake::Options machine;
  Limits limits;
  double noise_share = 0;  // half-width of a trial's 95% interval
  bool heavy_tails = false;
  bool linear_memory = true;
};
Question draw_question(std::uint32_t number);

// A trial as a measurement of the machine would give it; `number` tells repeated ones apart.
trial::Trial run_trial(const Question& question, std::int64_t batch, std::uint32_t number);

Predict predict_of(const Question& question);

// What came of a search, and what would have been right.
struct Result {
  std::optional<Choice> choice;
  std::vector<trial::Trial> trials;
  double share_of_best = 0;  // true throughput of the choice by that of the best
  double smaller_share = 0;  // likewise of the fastest that is smaller by a quarter or more
  std::int64_t true_knee = 0, true_best = 0;
  bool above_cap = false;  // a launch that did not fit
};
Result search_for(const Question& question);

}  // namespace sweetspot::search
