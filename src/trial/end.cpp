#include "trial/end.h"

#include <algorithm>
#include <array>

namespace sweetspot::trial {
namespace {

constexpr std::array<std::string_view, 12> names{
    "running",           "found",          "finished",     "nothing_feasible",
    "batch_unconfirmed", "energy_unknown", "not_reached",  "metric_missing",
    "stopped",           "budget",         "store_failed", "device_lost"};

}  // namespace

std::string_view name(End end) { return names[static_cast<std::size_t>(end)]; }

std::optional<End> end_named(std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<End>(found - names.begin());
}

bool is_cut_short(End end) { return end >= End::stopped; }

std::string_view state_name(End end) {
  if (end == End::running) return name(end);
  return name(is_cut_short(end) || end == End::nothing_feasible ? End::stopped : End::finished);
}

}  // namespace sweetspot::trial
