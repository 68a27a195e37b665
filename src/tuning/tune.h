#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "advise/answer.h"
#include "search/search.h"
#include "study/loop.h"
#include "tuning/answer_checks.h"

namespace sweetspot::tuning {

struct TuneOptions {
  search::Limits limits;
  trial::Setting base;  // everything except the batch
  // Several of these, each a separate curve, in the order in which they are searched: other
  // precisions or power limits. Empty: only `base`.
  std::vector<trial::Setting> variants;
  // What the answer is judged by and is known before the search. With a global batch the
  // micro-batch is searched, and the accumulation keeps the batch.
  advise::Facts facts;
  // The loader's workers are searched too, up to this many; nullopt: as in `base`.
  std::optional<int> most_workers;
  std::optional<Confirm> confirm;
  bool check_rate = false;  // compares the answer's learning rate with half and twice as much
  study::LoopOptions loop;
  // The roofline for operations; if unknown, they are not judged.
  advise::Roofline operations_roofline;
  std::function<std::string(const trial::Setting&)> command;  // trains at a setting
};

// Its answer is a recommendation or a doubt.
struct TuneResult : study::Result {
  advise::Facts facts;

  const advise::Recommendation* recommendation() const {
    return answer.get<advise::Recommendation>();
  }
};

// Asks the search, measures and stores, until the search is over or something ends it; then answers
// from everything known, and stores the answer. Workloads whose settings change in place are
// measured in rounds, all others in passes. A stored study is resumed.
TuneResult tune(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
                study::Observer& observer, const std::atomic<int>& stop);

}  // namespace sweetspot::tuning
