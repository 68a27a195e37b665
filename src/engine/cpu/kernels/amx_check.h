#pragma once

namespace sweetspot::engine::cpu {

// Whether the tiles of AMX work in this process; asks the kernel for them. Tried in a child process
// first: a hypervisor may announce them and not allow them, and then they end the process.
bool amx_works();

}  // namespace sweetspot::engine::cpu
