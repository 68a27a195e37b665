#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "probe/gpu.h"
#include "probe/powercap/energy.h"
#include "probe/proc/host.h"
#include "probe/proc/load.h"

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

// Pieces that the block and the lines share; a dash where nothing is known.
std::string percent_words(const std::optional<double>& share);
std::string memory_words(const std::optional<core::Bytes>& used,
                         const std::optional<core::Bytes>& total);
std::string power_words(const probe::gpu::Reading& reading);  // "412 W of 700 W, 51 °C"
std::string clock_words(const probe::gpu::Reading& reading);  // "1,980 MHz, memory 3,201 MHz"
std::string waiting_words(const HostSnapshot& host);          // "CPU 12.3%, memory 0.0%, …"
std::string process_words(const GpuProcess& process);         // "4211 python: 19.2 GiB, 96%"
std::optional<core::Bytes> memory_used(const probe::proc::Memory& memory);

struct View {
  std::size_t width = 80;
  bool colour = false, utf8 = true;
};

// For a terminal: a block for the host and one for each GPU, no line wider than the view.
std::vector<std::string> monitor_block(const Snapshot& snapshot, const View& view);
// For a file or a pipe: a line for the host and one for each GPU.
std::string monitor_lines(const Snapshot& snapshot);
nlohmann::ordered_json monitor_json(const Snapshot& snapshot);

}  // namespace sweetspot::cli
