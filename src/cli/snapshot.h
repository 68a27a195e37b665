#pragma once
#include <string>
#include <vector>

#include "probe/gpu/gpu.h"
#include "probe/powercap/energy.h"
#include "probe/proc/cpu_time.h"
#include "probe/proc/host.h"
#include "probe/proc/pressure.h"

namespace sweetspot::cli {

struct HostSnapshot {
  std::string cpu;
  int cores = 0;                                     // that may be used
  std::optional<double> cpu_share, cpu_power_watts;  // since the snapshot before
  probe::proc::Memory memory;
  probe::proc::Pressure cpu_pressure, memory_pressure, io_pressure;
};

struct GpuProcess {
  probe::gpu::Process use;
  std::string name;  // empty where it is unknown
};

struct GpuSnapshot {
  probe::gpu::Identity identity;
  probe::gpu::Reading reading;
  std::optional<std::vector<GpuProcess>> processes;  // those that hold most first
};

// The machine at one moment.
struct Snapshot {
  double at_unix_seconds = 0;
  HostSnapshot host;
  std::vector<GpuSnapshot> gpus;
  std::string no_gpu_reason;  // empty if there is one
};

// Takes snapshots; what is a rate is of the time between two of them.
class Snapshots {
 public:
  Snapshots();
  Snapshot take();

 private:
  probe::gpu::Found found_;
  probe::powercap::Energy energy_;
  probe::proc::CpuTime cpu_time_;
  std::optional<double> joules_;
  double at_ = 0;
};

}  // namespace sweetspot::cli
