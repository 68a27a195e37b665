#pragma once
#include <sweetspot/client.h>

namespace sweetspot::client {

// The setting of SWEETSPOT_BATCH and its like; what they do not say, or say badly, is `defaults`.
Setting from_environment(Setting defaults);

// In a group of processes only the first speaks, and none of them can follow a session.
bool is_first_rank();
bool is_alone();

// `batch`, `micro_batch` and `accumulation` made to agree where not all of them were given.
void complete(Setting& setting, bool micro_batch_given);

}  // namespace sweetspot::client
