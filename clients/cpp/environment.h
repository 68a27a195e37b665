#pragma once
#include <sweetspot/client.h>

namespace sweetspot::client {

// The setting of SWEETSPOT_BATCH and similar variables; missing or invalid ones are `defaults`.
Setting from_environment(Setting defaults);

// In a group of processes only the first reports, and none of them can follow a session.
bool is_first_rank();
bool is_alone();

// Makes `batch`, `micro_batch` and `accumulation` consistent if not all of them were given.
void complete(Setting& setting, bool micro_batch_given);

}  // namespace sweetspot::client
