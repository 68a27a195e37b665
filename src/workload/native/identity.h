#pragma once
#include <string>

#include "workload/native/train.h"

namespace sweetspot::workload::native {

// What identifies this run's workload in a study key: model, data and options, and whether its
// trials train or only time steps.
std::string identity_json(const Run& run, bool trains);

}  // namespace sweetspot::workload::native
