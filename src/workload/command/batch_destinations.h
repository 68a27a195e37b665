#pragma once
#include <string>
#include <vector>

#include "workload/command/options.h"

namespace sweetspot::workload::command {

// How the batch (or the micro-batch) is handed to the program, each way in words that go on from
// "the batch is handed over": "as argument 3, behind --batch-size", "in the environment variable
// BATCH_SIZE", "as train.batch_size in config.yaml". Empty where it is not.
std::vector<std::string> batch_destinations(const Options& options);
// The same as one text: "as argument 3 and in the environment variable BATCH_SIZE".
std::string batch_destinations_words(const Options& options);

// Whether the program, or the line that starts it, is known to read SWEETSPOT_BATCH.
bool reads_batch_variable(const Options& options);

}  // namespace sweetspot::workload::command
