#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sweetspot::probe::gpu {

struct Identity {
  std::string vendor;  // "NVIDIA", "AMD"
  std::string name;    // "NVIDIA H200"
  std::string uuid;    // empty if there is none
  std::string bus_id;  // "0000:1b:00.0": the one name that CUDA, NVML and the kernel agree on
  std::string driver;
  std::optional<bool> mig;  // partitioned into instances
};

// Why clocks are throttled. The last three are not normal under load.
struct Throttle {
  bool power_cap = false, other = false, thermal = false, hardware = false, power_brake = false;
  bool is_disturbance() const { return thermal || hardware || power_brake; }
  Throttle& operator|=(const Throttle&);
};
std::string words(const Throttle& throttle);  // "power cap, thermal slowdown"; empty for none

// The device's current readings; nullopt where unsupported.
struct Reading {
  std::optional<double> utilisation_share;  // recent share of time with a kernel running
  std::optional<double> memory_busy_share;  // share of time with memory being read or written
  std::optional<core::Bytes> memory_used, memory_total;
  std::optional<double> power_watts, power_limit_watts;
  std::optional<double> temperature_celsius;
  std::optional<std::int64_t> core_clock_mhz, memory_clock_mhz;
  std::optional<Throttle> throttle;
};

struct Process {
  std::int64_t pid = 0;
  std::optional<core::Bytes> memory;        // its memory on the device
  std::optional<double> utilisation_share;  // its part of the device's time, if that is counted
};

struct Memory {
  core::Bytes used = 0, free = 0,
              total = 0;  // only the last includes what the driver reserves
};

// One GPU. A lost device returns nothing; it never throws. Thread-safe.
class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const Identity& identity() const = 0;
  // Cheap enough to be called twenty times a second during training.
  virtual Reading read() const = 0;
  // At this moment; as cheap.
  virtual std::optional<Memory> memory() const;
  // A counter: the difference of two readings counts. A call takes milliseconds.
  virtual std::optional<double> energy_joules() const = 0;
  // The processes that the driver lists; nullopt if it lists none. Takes milliseconds too.
  virtual std::optional<std::vector<Process>> processes() const = 0;
  // The same without their shares of the device's time, which take most of those milliseconds.
  virtual std::optional<std::vector<Process>> memory_by_process() const { return processes(); }
  // Its MIG instances: each has its own memory and processes.
  virtual std::vector<std::shared_ptr<const Gpu>> instances() const { return {}; }
};

struct Found {
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::string reason;  // why there is none: one sentence; empty if there is one
};
// NVIDIA's first, then AMD's.
Found find();

// In any notation of the domain ("00000000:1B:00.0", "0000:1b:00.0").
bool is_same_bus(const std::string& one, const std::string& other);

// The GPU at this bus id, in any notation ("00000000:1B:00.0"); nullptr: none is.
const Gpu* at_bus(const Found& found, const std::string& bus_id);

}  // namespace sweetspot::probe::gpu
