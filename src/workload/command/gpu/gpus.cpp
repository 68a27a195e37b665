#include "workload/command/gpu/gpus.h"

#include <fmt/format.h>

namespace sweetspot::workload::command::gpu {
namespace {

std::vector<Device> all_devices() {
  std::vector<Device> devices;
  probe::gpu::Found found = probe::gpu::find();
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    std::shared_ptr<const probe::gpu::Gpu> whole = std::move(found.gpus[i]);
    const auto instances = whole->instances();
    for (std::size_t k = 0; k < instances.size(); ++k)
      devices.push_back({fmt::format("cuda:{}:{}", i, k), instances[k]});
    // Where it is divided, programs have its instances only.
    if (instances.empty()) devices.push_back({fmt::format("cuda:{}", i), std::move(whole)});
  }
  return devices;
}

}  // namespace

Gpus::Gpus() : found_(std::async(std::launch::async, all_devices).share()) {}

const std::vector<Device>* Gpus::within(core::Seconds time) const {
  return found_.wait_for(time) == std::future_status::ready ? &found_.get() : nullptr;
}

}  // namespace sweetspot::workload::command::gpu
