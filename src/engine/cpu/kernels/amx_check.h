#pragma once

namespace sweetspot::engine::cpu {

// Whether AMX tiles work in this process; requests them from the kernel. Tested in a child process
// first: a hypervisor may announce them and not allow them, and then using them kills the process.
bool amx_works();

}  // namespace sweetspot::engine::cpu
