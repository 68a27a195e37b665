#include <array>

#include "advise/advise.h"

namespace sweetspot::advise {
namespace {

constexpr std::array<std::string_view, 5> bottleneck_names{
    "step_overhead", "data_loading", "compute", "memory_bandwidth", "memory_capacity"};
constexpr std::array<std::string_view, 5> bottleneck_words{
    "step overhead", "data loading", "compute", "memory bandwidth", "memory capacity"};
constexpr std::array<std::string_view, 5> cut_short_names{"no", "stopped", "budget", "store_failed",
                                                          "device_lost"};
constexpr std::array<std::string_view, 25> reason_names{
    "energy",      "precision",    "loss",     "noise",       "learning_rate",
    "step_cost",   "limit",        "given_up", "slow_kernel", "memory",
    "knee",        "accumulation", "workers",  "loader",      "loading_below",
    "neighbours",  "contended",    "changed",  "cut_short",   "confirmation",
    "inputs_vary", "several_gpus", "clamped",  "scaling",     "note"};

}  // namespace

std::string_view name(Bottleneck bottleneck) {
  return bottleneck_names[static_cast<std::size_t>(bottleneck)];
}
std::string_view words(Bottleneck bottleneck) {
  return bottleneck_words[static_cast<std::size_t>(bottleneck)];
}
std::string_view name(CutShort cut) { return cut_short_names[static_cast<std::size_t>(cut)]; }
std::string_view name(Reason reason) { return reason_names[static_cast<std::size_t>(reason)]; }

}  // namespace sweetspot::advise
