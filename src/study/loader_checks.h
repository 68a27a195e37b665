#pragma once
#include <optional>

#include "advise/advise.h"
#include "study/loop.h"

namespace sweetspot::study {

// Where loading limits the chosen trial: follows the advice in one trial, or finds that trial in
// the store, and says what came of it. Nothing when loading is no bottleneck, when nothing that
// helps fits in memory, or when no further trial may begin.
std::optional<advise::LoaderCheck> check_loader(Loop& loop, const workload::Workload& workload,
                                                const trial::Trial& chosen,
                                                const advise::Facts& facts);

// Doubles the loader's workers at the chosen setting for as long as that pays: where waiting for
// data is measured and short nothing is tried, and where it cannot be seen a trial tells. What is
// known of a resumed study is not measured again.
advise::WorkerSearch search_workers(Loop& loop, const trial::Trial& chosen, int most_workers);

}  // namespace sweetspot::study
