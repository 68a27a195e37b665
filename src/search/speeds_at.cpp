#include "search/speeds_at.h"

#include <algorithm>
#include <set>

#include "search/knee.h"

namespace sweetspot::search {

std::vector<BatchSpeed> speeds_at(std::span<const trial::Trial> trials,
                                  std::span<const std::int64_t> batches, const Limits& limits) {
  const Evidence known = evidence(trials);
  if (known.times.batches.empty()) return {};
  std::set<std::int64_t> sizes(known.times.batches.begin(), known.times.batches.end());
  sizes.insert(batches.begin(), batches.end());
  const Losses losses(stats::StepModel(known.times), {sizes.begin(), sizes.end()}, known, limits);
  std::vector<BatchSpeed> found;
  for (std::size_t i = 0; i < losses.sizes().size(); ++i)
    if (std::ranges::binary_search(batches, losses.sizes()[i])) found.push_back(losses.speed(i));
  return found;
}

}  // namespace sweetspot::search
