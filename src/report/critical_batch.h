#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/shown_study.h"

namespace sweetspot::report {

// The result of `tune --critical-batch` on one screen: the sentence, the noise scale, and a row per
// batch. Empty if nothing was found.
std::string critical_batch_text(const ShownStudy& study);
// The object of `--json`, schema_version first.
nlohmann::ordered_json critical_batch_json(const ShownStudy& study);

}  // namespace sweetspot::report
