#pragma once
#include <sweetspot/result.h>

#include "study/tune.h"

namespace sweetspot::api {

// What a study found, for the caller. `workload` and `study` name it in the JSON.
Result answer(const study::TuneResult& found, const std::string& workload,
              const std::string& study);

}  // namespace sweetspot::api
