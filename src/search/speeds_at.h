#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "search/search.h"

namespace sweetspot::search {

// Speed, and energy if any was read, of any batches (ascending), measured or not, on the curves
// through all measurements. Empty without any.
std::vector<BatchSpeed> speeds_at(std::span<const trial::Trial> trials,
                                  std::span<const std::int64_t> batches, const Limits& limits);

}  // namespace sweetspot::search
