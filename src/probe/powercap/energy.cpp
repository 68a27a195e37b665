#include "probe/powercap/energy.h"

#include "probe/text_file.h"

namespace sweetspot::probe::powercap {
namespace {

namespace fs = std::filesystem;

// Packages only: their cores and memory, "intel-rapl:0:1", are parts of them, and the whole
// platform, "psys", includes them all.
bool is_package(const fs::path& zone) {
  return zone.filename().string().starts_with("intel-rapl:") &&
         read_text(zone / "name").value_or("").starts_with("package");
}

}  // namespace

Energy::Energy(const fs::path& root) {
  std::error_code none;
  for (fs::directory_iterator at(root / "sys/class/powercap", none), end; at != end;
       at.increment(none)) {
    if (!is_package(at->path())) continue;
    const auto now = read_number(at->path() / "energy_uj");
    const auto range = read_number(at->path() / "max_energy_range_uj");
    if (now && range) packages_.push_back({at->path() / "energy_uj", *range, *now});
  }
}

std::optional<double> Energy::joules() {
  if (packages_.empty()) return std::nullopt;
  for (Package& package : packages_) {
    const auto now = read_number(package.counter);
    if (!now) return std::nullopt;
    const std::uint64_t used = *now >= package.last_uj ? *now - package.last_uj
                                                       : *now + package.range_uj - package.last_uj;
    joules_ += static_cast<double>(used) * 1e-6;
    package.last_uj = *now;
  }
  return joules_;
}

}  // namespace sweetspot::probe::powercap
