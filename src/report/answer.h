#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advise/answer.h"
#include "trial/study.h"

namespace sweetspot::report {

// Everything in a study's result, for every output format.
struct Answer {
  std::string study;     // its number in the store
  std::string workload;  // "paper-cnn on mnist"
  std::string status;    // found, nothing_feasible, budget, stopped, store_failed, finished
  std::string message;   // why there is no recommendation, or why it ended early; may be empty
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0;                     // of them, how many existed before this run
  std::optional<std::int64_t> swept_epochs{};  // the most epochs of a sweep that trains
  double seconds = 0;                          // of this run
  std::optional<advise::Recommendation> recommendation;
  std::optional<advise::Doubt> doubt;             // why there is none
  std::optional<advise::TimeToTarget> to_target;  // the answer of a tune to a target, in its place
  std::optional<advise::CriticalBatchAnswer> critical_batch;
  advise::Facts facts;
  std::string environment_json;  // an object
  std::string program, machine;  // that measured it; may be empty
  double started_at = 0;         // seconds since 1970; 0 when unknown
  std::optional<trial::Running> running{};

  // The last five of the answer, its end as the status, and its message.
  void take(const advise::Answer& given);
};

// The trials with their diagnosis, by batch.
struct Row {
  const trial::Trial* trial = nullptr;
  std::int64_t number = 1;  // in the order in which they were run, as in `studies show`
  std::optional<advise::Bottleneck> bottleneck;
  bool doubted = false;  // its batch may be a different one: no speed is shown
};
std::vector<Row> rows(const Answer& answer);

// The row of the recommendation that a trial belongs to; nullptr if it has another loader.
const advise::BatchRow* row_of(const trial::Trial& trial, const Answer& answer);
// The batch of a trial in tables and charts: with a given batch, the micro-batch.
std::int64_t size_of(const trial::Trial& trial, const Answer& answer);

// A stored study as an answer: what its command said, and its trials. A study that is still running
// has the status "running".
Answer answer_of(const trial::Study& study);

}  // namespace sweetspot::report
