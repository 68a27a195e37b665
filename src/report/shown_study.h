#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advise/answer.h"
#include "advise/request.h"
#include "trial/study.h"

namespace sweetspot::report {

// A study for every output format: what the store has of it.
struct ShownStudy {
  std::string number;    // in the store; empty if that is not kept
  std::string workload;  // "paper-cnn on mnist"
  advise::Answer answer;
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0;                     // of them, how many existed before this run
  double seconds = 0;                          // of this run, else of all trials
  std::optional<std::int64_t> swept_epochs{};  // the most epochs of a sweep that trains
  advise::Facts facts;
  std::string environment_json;  // an object
  std::string program, machine;  // that measured it; may be empty
  double started_at = 0;         // seconds since 1970; 0 when unknown
  std::optional<trial::Running> running{};

  // Of the answer; nullptr if it is another one.
  const advise::Recommendation* recommendation() const {
    return answer.get<advise::Recommendation>();
  }
  const advise::TimeToTarget* to_target() const { return answer.get<advise::TimeToTarget>(); }
  const advise::CriticalBatchAnswer* critical_batch() const {
    return answer.get<advise::CriticalBatchAnswer>();
  }
  const advise::Doubt* doubt() const { return answer.get<advise::Doubt>(); }
};

// The run that shows its study: how that ended, and what it cost.
struct RunInfo {
  trial::End end = trial::End::running;
  std::string message;
  std::size_t resumed = 0;
  double seconds = 0;
};

// The only way from a study to what is shown of it.
ShownStudy shown_study(trial::Study study, const std::optional<RunInfo>& run = {});

// The trials with their diagnosis, by batch.
struct Row {
  const trial::Trial* trial = nullptr;
  std::int64_t number = 1;  // in the order in which they were run, as in `studies show`
  std::optional<advise::Bottleneck> bottleneck;
  bool doubted = false;  // its batch may be a different one: no speed is shown
};
std::vector<Row> rows(const ShownStudy& study);

// The row of the recommendation that a trial belongs to; nullptr if it has another loader.
const advise::BatchRow* row_of(const trial::Trial& trial, const ShownStudy& study);
// The batch of a trial in tables and charts: with a given batch, the micro-batch.
std::int64_t size_of(const trial::Trial& trial, const ShownStudy& study);

}  // namespace sweetspot::report
