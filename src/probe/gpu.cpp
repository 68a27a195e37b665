#include "probe/gpu.h"

#include <algorithm>
#include <iterator>

#include "core/text.h"
#include "probe/amd/amd.h"
#include "probe/nvml/nvml.h"

namespace sweetspot::probe::gpu {
namespace {

// "00000000:1B:00.0" and "0000:1b:00.0" are the same: lower case, without leading zeros.
std::string plain(std::string_view text) {
  const std::string bus_id = core::lower(text);
  const std::size_t start = bus_id.find_first_not_of('0');
  return start == bus_id.npos ? "" : bus_id.substr(start);
}

}  // namespace

Throttle& Throttle::operator|=(const Throttle& more) {
  power_cap |= more.power_cap, other |= more.other, thermal |= more.thermal;
  hardware |= more.hardware, power_brake |= more.power_brake;
  return *this;
}

std::string words(const Throttle& throttle) {
  std::string text;
  const auto add = [&](bool is_so, const char* what) {
    if (is_so) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(throttle.power_cap, "power cap");
  add(throttle.thermal, "thermal slowdown");
  add(throttle.hardware, "hardware slowdown");
  add(throttle.power_brake, "power brake");
  add(throttle.other, "clocks set by hand");
  return text;
}

std::optional<Memory> Gpu::memory() const {
  const Reading now = read();
  if (!now.memory_used || !now.memory_total) return std::nullopt;
  return Memory{*now.memory_used, *now.memory_total - std::min(*now.memory_used, *now.memory_total),
                *now.memory_total};
}

Found find() {
  Found found = nvml::find();
  Found amd = amd::find();
  std::move(amd.gpus.begin(), amd.gpus.end(), std::back_inserter(found.gpus));
  if (!found.gpus.empty()) found.reason.clear();
  return found;
}

bool is_same_bus(const std::string& one, const std::string& other) {
  return !plain(one).empty() && plain(one) == plain(other);
}

const Gpu* at_bus(const Found& found, const std::string& bus_id) {
  for (const auto& gpu : found.gpus)
    if (is_same_bus(bus_id, gpu->identity().bus_id)) return gpu.get();
  return nullptr;
}

}  // namespace sweetspot::probe::gpu
