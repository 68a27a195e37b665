#pragma once
#include "advise/advise.h"
#include "study/loop.h"

namespace sweetspot::study {

// Doubles the loader's workers at the chosen setting for as long as that pays: where waiting for
// data is measured and short nothing is tried, and where it cannot be seen a trial tells. What is
// known of a resumed study is not measured again.
advise::WorkerSearch search_workers(Loop& loop, const trial::Trial& chosen, int most_workers);

}  // namespace sweetspot::study
