#include "probe/nvml/nvml.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace sweetspot::probe::nvml {
namespace {

constexpr std::size_t most_processes = 4096;
constexpr unsigned long long recent_us = 2'000'000;

// A function's result, or nullopt if this driver lacks it, or it fails.
template <class Value, class Function, class... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
  Value value{};
  if (!function || function(arguments..., &value) != Status::ok) return std::nullopt;
  return value;
}

template <class Function>
std::string ask_text(Function function, Handle handle) {
  char text[96] = "";
  if (!function || function(handle, text, sizeof text) != Status::ok) return "";
  text[sizeof text - 1] = '\0';
  return text;
}

std::optional<double> scaled(std::optional<unsigned> value, double factor) {
  if (!value) return std::nullopt;
  return *value * factor;
}

// The list may grow between being counted and being read: retried with more space.
template <class Item, class Function>
std::optional<std::vector<Item>> ask_list(Function function, Handle handle, std::size_t capacity) {
  for (; capacity <= most_processes; capacity *= 4) {
    std::vector<Item> items(capacity);
    auto count = static_cast<unsigned>(capacity);
    const Status status = function(handle, items.data(), count);
    if (status == Status::ok) {
      items.resize(std::min<std::size_t>(count, capacity));
      return items;
    }
    if (status == Status::not_found) return std::vector<Item>{};
    if (status != Status::insufficient_size) return std::nullopt;
  }
  return std::nullopt;
}

class Device final : public gpu::Gpu {
 public:
  Device(std::shared_ptr<const Library> library, Handle handle)
      : library_(std::move(library)), call_(library_->call()), handle_(handle) {
    identity_.vendor = "NVIDIA";
    identity_.name = ask_text(call_.name, handle);
    identity_.uuid = ask_text(call_.uuid, handle);
    identity_.driver = library_->driver();
    if (const auto pci = ask<PciInfo>(call_.pci_info, handle)) identity_.bus_id = pci->bus_id;
    unsigned now = 0, pending = 0;
    if (call_.mig_mode && call_.mig_mode(handle, &now, &pending) == Status::ok)
      identity_.mig = now != 0;
  }

  const gpu::Identity& identity() const override { return identity_; }

  gpu::Reading read() const override {
    gpu::Reading reading;
    if (const auto busy = ask<Utilization>(call_.utilization, handle_)) {
      reading.utilisation_share = busy->gpu / 100.0;
      reading.memory_busy_share = busy->memory / 100.0;
    }
    if (const auto memory = this->memory())
      reading.memory_used = memory->used, reading.memory_total = memory->total;
    reading.power_watts = power();
    reading.power_limit_watts = scaled(ask<unsigned>(call_.power_limit, handle_), 1e-3);
    reading.temperature_celsius = scaled(ask<unsigned>(call_.temperature, handle_, sensor_gpu), 1);
    reading.core_clock_mhz = ask<unsigned>(call_.clock, handle_, clock_sm);
    reading.memory_clock_mhz = ask<unsigned>(call_.clock, handle_, clock_memory);
    if (const auto reasons = ask<unsigned long long>(call_.clock_reasons, handle_))
      reading.throttle = throttle_of(*reasons);
    return reading;
  }

  std::optional<gpu::Memory> memory() const override {
    if (const auto newer = ask<MemoryInfo2>(call_.memory2, handle_)) {
      // Drivers differ in whether `used` includes what is reserved.
      const auto not_used = newer->free + newer->reserved;
      return gpu::Memory{newer->total - std::min(newer->total, not_used), newer->free,
                         newer->total};
    }
    if (const auto older = ask<MemoryInfo>(call_.memory, handle_))
      return gpu::Memory{older->used, older->free, older->total};
    return std::nullopt;
  }

  std::optional<double> energy_joules() const override {
    const auto millijoules = ask<unsigned long long>(call_.energy, handle_);
    if (!millijoules) return std::nullopt;
    return static_cast<double>(*millijoules) / 1e3;
  }

  std::optional<std::vector<gpu::Process>> processes() const override {
    auto found = memory_by_process();
    if (found) add_utilisation(*found);
    return found;
  }

  std::optional<std::vector<gpu::Process>> memory_by_process() const override {
    const auto list = [](auto function) {
      return [function](Handle handle, ProcessInfo* items, unsigned& count) {
        return function ? function(handle, &count, items) : Status::not_supported;
      };
    };
    const auto computing = ask_list<ProcessInfo>(list(call_.compute_processes), handle_, 64);
    const auto drawing = ask_list<ProcessInfo>(list(call_.graphics_processes), handle_, 64);
    if (!computing && !drawing) return std::nullopt;
    std::map<unsigned, gpu::Process> found;  // a process that computes and draws is in both lists
    for (const auto* processes : {&computing, &drawing}) {
      if (!*processes) continue;
      for (const ProcessInfo& info : **processes) {
        found[info.pid].pid = info.pid;
        if (info.used_memory != not_available) found[info.pid].memory = info.used_memory;
      }
    }
    std::vector<gpu::Process> all;
    for (const auto& [pid, process] : found) all.push_back(process);
    return all;
  }

  std::vector<std::shared_ptr<const gpu::Gpu>> instances() const override {
    std::vector<std::shared_ptr<const gpu::Gpu>> found;
    const auto most = ask<unsigned>(call_.most_instances, handle_);
    if (!identity_.mig.value_or(false) || !most || !call_.instance) return found;
    for (unsigned i = 0; i < *most; ++i)
      if (Handle handle = nullptr; call_.instance(handle_, i, &handle) == Status::ok)
        found.push_back(make_device(library_, handle));
    return found;
  }

 private:
  std::optional<double> power() const {
    FieldValue field{};
    field.field = field_power_instant;
    if (call_.fields && call_.fields(handle_, 1, &field) == Status::ok &&
        field.status == Status::ok)
      return field.value.whole * 1e-3;
    return scaled(ask<unsigned>(call_.power, handle_), 1e-3);
  }

  // The driver keeps samples of the last seconds. Each process's newest counts, unless it is older
  // than the others'; a process without one was idle.
  void add_utilisation(std::vector<gpu::Process>& found) const {
    const auto all_there_are = [this](Handle handle, ProcessUtilization* items, unsigned& count) {
      return call_.process_utilization ? call_.process_utilization(handle, items, &count, 0)
                                       : Status::not_supported;
    };
    const auto samples = ask_list<ProcessUtilization>(all_there_are, handle_, 256);
    if (!samples) return;
    unsigned long long now_us = 0;
    for (const ProcessUtilization& sample : *samples) now_us = std::max(now_us, sample.time_us);
    for (gpu::Process& process : found) {
      unsigned long long newest_us = 0;
      process.utilisation_share = 0;
      for (const ProcessUtilization& sample : *samples) {
        if (sample.pid != process.pid || sample.time_us < newest_us ||
            sample.time_us + recent_us < now_us)
          continue;
        newest_us = sample.time_us;
        process.utilisation_share = sample.sm / 100.0;
      }
    }
  }

  std::shared_ptr<const Library> library_;
  const Functions& call_;
  Handle handle_;
  gpu::Identity identity_;
};

}  // namespace

gpu::Throttle throttle_of(unsigned long long reasons) {
  gpu::Throttle throttle;
  throttle.power_cap = reasons & reason_power_cap;
  throttle.thermal = reasons & (reason_software_thermal | reason_hardware_thermal);
  throttle.power_brake = reasons & reason_power_brake;
  // The hardware slowdown bit is set along with its cause, if that is known.
  throttle.hardware =
      (reasons & reason_hardware) && !(reasons & (reason_hardware_thermal | reason_power_brake));
  throttle.other = reasons & (reason_set_by_hand | reason_sync_boost | reason_display);
  return throttle;
}

std::unique_ptr<gpu::Gpu> make_device(std::shared_ptr<const Library> library, Handle handle) {
  return std::make_unique<Device>(std::move(library), handle);
}

std::string default_library() {
  const char* given = std::getenv("SWEETSPOT_NVML");
  return given && *given ? given : "libnvidia-ml.so.1";
}

gpu::Found find(const std::string& file) {
  gpu::Found found;
  const auto library = Library::open(file, found.reason);
  if (!library) return found;
  unsigned count = 0, lost = 0;
  if (library->call().count(&count) != Status::ok) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    Handle handle = nullptr;
    if (library->call().handle(i, &handle) == Status::ok)
      found.gpus.push_back(make_device(library, handle));
    else
      ++lost;
  }
  if (found.gpus.empty())
    found.reason = lost ? "the NVIDIA driver lost its GPU or may not show it; look at nvidia-smi"
                        : "the NVIDIA driver shows no GPU";
  return found;
}

}  // namespace sweetspot::probe::nvml
