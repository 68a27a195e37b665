#pragma once
#include <vector>

#include "probe/nvml/api.h"

// Fake GPUs whose memory programs take by writing files. FAKE_NVML_FOLDER has a folder for each,
// gpu0, gpu1 and so on, and in it
//   PID       bytes held by the process of this number; ignored once it has ended
//   total     bytes of the GPU, 16 GiB by default
//   others    bytes of unlisted processes
//   lost      the GPU has fallen off the bus
//   read      written by the fake once it has listed a process
//   limit     its power limit in milliwatts, 700,000 by default; from 200,000 on
//   mig0      and so on: its MIG instances, each a folder like this one
// and next to them, for all GPUs,
//   denied    who may not list processes
//   offset    the difference between the listed process ids and those here, as in a container
//   hidden    no process is listed
//   secret    the processes' memory is not reported
//   fixed     who may not set power limits
// Each draws 300 W, or its limit if that is lower.
bool folder();
unsigned folder_gpus();

using FakeHandle = sweetspot::probe::nvml::Handle;
using FakeStatus = sweetspot::probe::nvml::Status;
FakeHandle folder_gpu(unsigned index);
bool is_lost(FakeHandle handle);
unsigned instances_of(FakeHandle handle);
FakeHandle instance_of(FakeHandle handle, unsigned index);
FakeStatus memory_of(FakeHandle handle, sweetspot::probe::nvml::MemoryInfo2& memory);
FakeStatus processes_of(FakeHandle handle,
                        std::vector<sweetspot::probe::nvml::ProcessInfo>& processes);
FakeStatus limit_of(FakeHandle handle, unsigned& milliwatts);
FakeStatus set_limit(FakeHandle handle, unsigned milliwatts);
FakeStatus power_of(FakeHandle handle, unsigned& milliwatts);
FakeStatus energy_of(FakeHandle handle, unsigned long long& millijoules);
