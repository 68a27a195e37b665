#pragma once
#include "workload/command/process/process.h"
#include "workload/command/process/supervisor.h"

namespace sweetspot::workload::command::process {

// Throws the sentence for a program that could not be started.
[[noreturn]] void refuse(const Launch& launch, const Word& word);

}  // namespace sweetspot::workload::command::process
