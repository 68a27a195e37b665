#include <array>

#include "advise/advise.h"

namespace sweetspot::advise {
namespace {

constexpr std::array<std::string_view, 5> names{"step_overhead", "data_loading", "compute",
                                                "memory_bandwidth", "memory_capacity"};
constexpr std::array<std::string_view, 5> in_words{"step overhead", "data loading", "compute",
                                                   "memory bandwidth", "memory capacity"};

}  // namespace

std::string_view name(Bottleneck bottleneck) { return names[static_cast<std::size_t>(bottleneck)]; }
std::string_view words(Bottleneck bottleneck) {
  return in_words[static_cast<std::size_t>(bottleneck)];
}

}  // namespace sweetspot::advise
