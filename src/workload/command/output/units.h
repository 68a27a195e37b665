#pragma once
#include <string_view>

#include "workload/command/output/refresh.h"

namespace sweetspot::workload::command::output {

// What a bar counts by the name of its unit: "it" and "batches" are updates, "img" and "examples"
// samples; bytes, files and epochs are no steps.
Counts counts_of(std::string_view unit);

}  // namespace sweetspot::workload::command::output
