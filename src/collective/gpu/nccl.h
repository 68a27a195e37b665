#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "collective/group.h"

namespace sweetspot::collective {

// Why NCCL cannot be used here; nullopt if it can.
std::optional<std::string> nccl_lack();

// Created by rank 0, which sends it to all others.
using NcclId = std::array<char, 128>;
NcclId make_nccl_id();

// Joins `size` ranks, each on its own GPU; returns when all have joined. Spans may be in GPU
// memory, where they stay, or in host memory. NCCL has no one-sided access, so share() throws.
// InputError if NCCL is missing, MachineError on failure.
std::unique_ptr<GpuGroup> join_nccl(const NcclId& id, int rank, int size, int gpu);

// The ranks of another group with their numbers.
std::unique_ptr<GpuGroup> join_nccl(Group& ranks, int gpu);

}  // namespace sweetspot::collective
