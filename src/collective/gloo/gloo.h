#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include "collective/joined_group.h"

namespace sweetspot::collective {

// The number of ranks, if torchrun started this process, or anything else that sets its variables
// (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT).
std::optional<int> torchrun_ranks();

// libsweetspot_gloo.so; nullopt if it is missing.
std::optional<std::filesystem::path> gloo_library();

// Joins the ranks of these variables over Gloo, as PyTorch does on CPUs; they meet at the address
// in the variables. InputError if sweetspot was built without Gloo, MachineError on failure.
std::unique_ptr<JoinedGroup> join_gloo();

}  // namespace sweetspot::collective
