#include <algorithm>

#include "collective/nccl/nccl.h"

namespace sweetspot::collective {

std::unique_ptr<Group> join_nccl(Group& ranks, int gpu) {
  NcclId id{};
  if (ranks.rank() == 0) id = make_nccl_id();
  // The bytes as numbers, which a sum preserves, since the others add zeros.
  std::array<double, std::tuple_size_v<NcclId>> numbers{};
  std::ranges::copy(id, numbers.begin());
  ranks.sum(numbers);
  std::ranges::transform(numbers, id.begin(), [](double byte) { return static_cast<char>(byte); });
  return join_nccl(id, ranks.rank(), ranks.size(), gpu);
}

}  // namespace sweetspot::collective
