#pragma once
#include <optional>

#include "advise/advise.h"
#include "study/loop.h"

namespace sweetspot::study {

// If loading is the bottleneck of the chosen trial: follows the advice in one trial, or finds that
// trial in the store, and returns the result. nullopt if loading is not the bottleneck, if nothing
// that helps fits in memory, or if no further trial may begin.
std::optional<advise::LoaderCheck> check_loader(Loop& loop, const workload::Workload& workload,
                                                const trial::Trial& chosen,
                                                const advise::Facts& facts);

// Doubles the loader's workers at the chosen setting as long as that pays: if the data wait is
// measured and short, nothing is tried; if it is not visible, a trial decides. What is known in a
// resumed study is not measured again.
advise::WorkerSearch search_workers(Loop& loop, const trial::Trial& chosen, int most_workers);

}  // namespace sweetspot::study
