#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "advise/doubt.h"
#include "search/search.h"
#include "study/confirm.h"
#include "study/loop.h"
#include "study/tune_status.h"
#include "telemetry/machine.h"

namespace sweetspot::study {

struct TuneOptions {
  search::Limits limits;
  trial::Setting base;  // everything but the batch
  // Several of these, each a curve of its own, in the order in which they are searched: other
  // precisions or power limits. Empty: `base` alone.
  std::vector<trial::Setting> variants;
  // The batch is given: the micro-batch is searched, and the accumulation keeps the batch.
  std::optional<std::int64_t> global_batch;
  // The loader's workers are searched too, up to this many; nothing: they are as in `base`.
  std::optional<int> most_workers;
  // Of a program on several GPUs, what its batch is of.
  std::optional<int> gpus;
  trial::BatchIs batch_is = trial::BatchIs::unsaid;
  int ranks = 1;  // that make a step of the workload together
  std::optional<Confirm> confirm;
  // What the answer's learning rate is found from; nothing: it is as in `base`.
  std::optional<advise::LearningRateBase> learning_rate;
  bool check_rate = false;  // and it is run beside half and twice as much
  LoopOptions loop;
  advise::Roofline roofline;
  advise::SampleCost cost;
  // What operations are held against; nothing known: they are not looked at.
  advise::Roofline operations_roofline;
  std::vector<std::string> notes;  // what else the user should know of the answer
  std::function<std::string(const trial::Setting&)> command;  // that trains at a setting
  telemetry::Machine* machine = nullptr;                      // else this one
};

struct TuneResult {
  Status status = Status::found;
  std::string message;  // why it is not "found", or why the search was over
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0;
  core::Seconds spent{0};
  std::optional<advise::Recommendation> recommendation;  // as the store has it
  std::optional<advise::Doubt> doubt;  // likewise: then there is no recommendation
  advise::Facts facts;
};

// Asks the search, measures, tells the store, until the search is over or something ends it; then
// answers from all that is known, and keeps the answer. What opens side by side is measured in
// rounds, anything else in passes. A study that is in the store already goes on where it was.
TuneResult tune(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
                Observer& observer, const std::atomic<int>& stop);

}  // namespace sweetspot::study
