#pragma once
#include <string>

#include "store/store.h"

namespace sweetspot::tests {

// The trial with the id that the store gave it.
inline trial::Trial add(store::Writer& writer, trial::Trial trial) {
  writer.save({&trial, 1});
  return trial;
}

trial::StudyKey study_key(const std::string& key = "{\"model\":\"a\"}");
trial::Environment environment(const std::string& program = "sweetspot 0.1.0 (abc, Release)");

// A trial with every field set, each to a different value.
trial::Trial full_trial();
// A trial of a batch with this many raw steps.
trial::Trial trial_of(std::int64_t batch, std::size_t steps = 3);

// Every field, including epochs, raw steps and trace.
void expect_equal(const trial::Trial& a, const trial::Trial& b);

}  // namespace sweetspot::tests
