#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "collective/group.h"

namespace sweetspot::collective {

// Why NCCL cannot be used here, in words; nothing where it can.
std::optional<std::string> nccl_lack();

// What rank 0 makes, and hands to all others by whatever way they have.
using NcclId = std::array<char, 128>;
NcclId make_nccl_id();

// Joins `size` ranks on this GPU; returns when all have joined. Reductions run in a stream of their
// own; spans may lie in the GPU's memory, where they stay, or in the host's. NCCL has no one-sided
// access, so share() is refused. InputError where NCCL is not here, MachineError where it fails.
std::unique_ptr<Group> join_nccl(const NcclId& id, int rank, int size, int gpu);

// The ranks of another group, each on a GPU of its machine, with its numbers.
std::unique_ptr<Group> join_nccl(Group& ranks, int gpu);

}  // namespace sweetspot::collective
