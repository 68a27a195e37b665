#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include "collective/joined_group.h"

namespace sweetspot::collective {

// Whether torchrun started this process, or anybody who sets its variables (RANK, WORLD_SIZE,
// MASTER_ADDR and MASTER_PORT): how many ranks.
std::optional<int> torchrun_ranks();

// libsweetspot_gloo.so; nothing where it is not.
std::optional<std::filesystem::path> gloo_library();

// Joins the ranks of these variables, which meet at the address that they tell, through Gloo, as
// PyTorch's do on CPUs. InputError where sweetspot was built without it, MachineError where it
// fails.
std::unique_ptr<JoinedGroup> join_gloo();

}  // namespace sweetspot::collective
