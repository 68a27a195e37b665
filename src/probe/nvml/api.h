#pragma once
#include <cstdint>

// The few parts of NVIDIA's management library that are used, declared here so that the program
// builds without the toolkit. Names, values and layouts are the library's and do not change: a new
// layout gets a new name.
namespace sweetspot::probe::nvml {

enum class Status : int {
  ok = 0,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  insufficient_size = 7,
  driver_not_loaded = 9,
  gpu_is_lost = 15,
  version_mismatch = 18,
};

using Handle = struct Opaque*;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct Utilization {
  unsigned gpu, memory;  // percent
};

struct MemoryInfo {
  unsigned long long total, free, used;
};

// The older layout counts what the driver reserves as used.
struct MemoryInfo2 {
  unsigned version = sizeof(MemoryInfo2) | 2u << 24;
  unsigned long long total = 0, reserved = 0, free = 0, used = 0;
};
static_assert(sizeof(MemoryInfo2) == 40);

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);
constexpr unsigned long long not_available = ~0ull;

struct ProcessUtilization {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;  // percent
};
static_assert(sizeof(ProcessUtilization) == 32);

struct FieldValue {
  unsigned field, scope;
  long long time_us, latency_us;
  unsigned type;
  Status status;
  union {
    double real;
    unsigned whole;
    unsigned long long wide;
  } value;
};
static_assert(sizeof(FieldValue) == 40);
// Instantaneous, in mW; the plain call returns an average over the last second.
constexpr unsigned field_power_instant = 186;

constexpr unsigned clock_sm = 1, clock_memory = 2, sensor_gpu = 0;

// Bits of the clocks' event reasons, without the one for idle.
constexpr unsigned long long reason_set_by_hand = 0x2, reason_power_cap = 0x4,
                             reason_hardware = 0x8, reason_sync_boost = 0x10,
                             reason_software_thermal = 0x20, reason_hardware_thermal = 0x40,
                             reason_power_brake = 0x80, reason_display = 0x100;

// One pointer per function: nullptr if this driver lacks it.
struct Functions {
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*driver_version)(char*, unsigned) = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*handle)(unsigned, Handle*) = nullptr;
  Status (*name)(Handle, char*, unsigned) = nullptr;
  Status (*uuid)(Handle, char*, unsigned) = nullptr;
  Status (*pci_info)(Handle, PciInfo*) = nullptr;
  Status (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;
  Status (*most_instances)(Handle, unsigned*) = nullptr;
  Status (*instance)(Handle, unsigned, Handle*) = nullptr;
  Status (*utilization)(Handle, Utilization*) = nullptr;
  Status (*memory)(Handle, MemoryInfo*) = nullptr;
  Status (*memory2)(Handle, MemoryInfo2*) = nullptr;
  Status (*power)(Handle, unsigned*) = nullptr;
  Status (*power_limit)(Handle, unsigned*) = nullptr;  // the enforced one; and the requested one:
  Status (*asked_power_limit)(Handle, unsigned*) = nullptr;
  Status (*power_limit_range)(Handle, unsigned*, unsigned*) = nullptr;
  Status (*set_power_limit)(Handle, unsigned) = nullptr;
  Status (*energy)(Handle, unsigned long long*) = nullptr;
  Status (*fields)(Handle, int, FieldValue*) = nullptr;
  Status (*temperature)(Handle, unsigned, unsigned*) = nullptr;
  Status (*clock)(Handle, unsigned, unsigned*) = nullptr;
  Status (*clock_reasons)(Handle, unsigned long long*) = nullptr;
  Status (*compute_processes)(Handle, unsigned*, ProcessInfo*) = nullptr;
  Status (*graphics_processes)(Handle, unsigned*, ProcessInfo*) = nullptr;
  Status (*process_utilization)(Handle, ProcessUtilization*, unsigned*,
                                unsigned long long) = nullptr;
};

}  // namespace sweetspot::probe::nvml
