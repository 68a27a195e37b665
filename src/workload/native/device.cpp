#include "workload/native/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/number.h"
#include "core/text.h"

namespace sweetspot::workload::native {
namespace {

constexpr std::string_view cuda = "cuda";
constexpr int most_devices = 1024;

// The index after "cuda" or "cuda:"; nullopt if `asked` is not a GPU.
std::optional<int> index_in(const std::string& asked) {
  if (asked == cuda) return 0;
  if (!asked.starts_with("cuda:")) return std::nullopt;
  return static_cast<int>(core::parse_whole(std::string_view(asked).substr(cuda.size() + 1),
                                            "the GPU of --device cuda:", 0, most_devices));
}

Device device_of(const engine::cuda::Device& gpu) { return {gpu.index, gpu.name, gpu.memory}; }

}  // namespace

Device choose_device(const std::string& asked) {
  return asked == "cpu" ? Device{} : choose_device(asked, engine::cuda::available());
}

Device choose_device(const std::string& asked, const engine::cuda::Availability& found) {
  if (asked == "cpu") return {};
  if (asked == "auto") return found.devices.empty() ? Device{} : device_of(found.devices.front());
  const std::optional<int> index = index_in(asked);
  if (!index)
    throw core::InputError(
        fmt::format("--device '{}' is not known; choose one of auto, cpu, cuda, cuda:N",
                    core::printable(asked)));
  if (found.devices.empty()) throw core::InputError(found.reason);
  const auto gpu = std::ranges::find(found.devices, *index, &engine::cuda::Device::index);
  if (gpu != found.devices.end()) return device_of(*gpu);
  std::vector<int> usable;
  for (const engine::cuda::Device& device : found.devices) usable.push_back(device.index);
  throw core::InputError(fmt::format("--device {} is not a usable GPU; there {} cuda:{}", asked,
                                     usable.size() == 1 ? "is" : "are",
                                     fmt::join(usable, ", cuda:")));
}

std::optional<Device> planned_gpu(const std::string& asked, core::Bytes memory) {
  const std::optional<int> index = index_in(asked);
  if (!index) return std::nullopt;
  return Device{index, "", memory};
}

engine::Precision precision_named(const std::string& word) {
  std::vector<std::string_view> names;
  for (const engine::Precision precision : engine::precisions) {
    if (name(precision) == word) return precision;
    names.push_back(name(precision));
  }
  throw core::InputError(fmt::format("the precision '{}' is not known; choose one of {}, auto",
                                     core::printable(word), fmt::join(names, ", ")));
}

}  // namespace sweetspot::workload::native
