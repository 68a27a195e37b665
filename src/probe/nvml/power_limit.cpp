#include "probe/nvml/power_limit.h"

namespace sweetspot::probe::nvml {
namespace {

std::string text_of(Status (*function)(Handle, char*, unsigned), Handle handle) {
  char text[96] = "";
  return function && function(handle, text, sizeof text) == Status::ok ? text : "";
}

}  // namespace

PowerLimit::PowerLimit(std::shared_ptr<const Library> library, unsigned index, Handle handle)
    : library_(std::move(library)),
      index_(index),
      handle_(handle),
      name_(text_of(library_->call().name, handle)),
      uuid_(text_of(library_->call().uuid, handle)) {
  PciInfo pci{};
  if (library_->call().pci_info && library_->call().pci_info(handle, &pci) == Status::ok)
    bus_id_ = pci.bus_id;
}

std::optional<PowerLimit::Range> PowerLimit::range() const {
  const auto ask = library_->call().power_limit_range;
  Range range;
  if (!ask || !library_->call().set_power_limit ||
      ask(handle_, &range.least_mw, &range.most_mw) != Status::ok)
    return std::nullopt;
  return range;
}

std::optional<unsigned> PowerLimit::now_mw() const {
  const auto ask = library_->call().asked_power_limit;
  unsigned milliwatts = 0;
  if (!ask || ask(handle_, &milliwatts) != Status::ok) return std::nullopt;
  return milliwatts;
}

Status PowerLimit::set_mw(unsigned milliwatts) const {
  const auto set = library_->call().set_power_limit;
  return set ? set(handle_, milliwatts) : Status::not_supported;
}

PowerLimitsFound power_limits(const std::string& file) {
  PowerLimitsFound found;
  const auto library = Library::open(file, found.reason);
  if (!library) return found;
  unsigned count = 0;
  if (library->call().count(&count) != Status::ok) count = 0;
  for (unsigned i = 0; i < count; ++i)
    if (Handle handle = nullptr; library->call().handle(i, &handle) == Status::ok)
      found.gpus.emplace_back(library, i, handle);
  if (found.gpus.empty()) found.reason = "the NVIDIA driver shows no GPU";
  return found;
}

}  // namespace sweetspot::probe::nvml
