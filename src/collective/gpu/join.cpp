#include "collective/gpu/join.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collective/gpu/nccl.h"
#include "collective/gpu/through_host.h"

namespace sweetspot::collective {
namespace {

// FNV-1a; in two halves, which a double holds.
struct Hash {
  double high, low;
  bool operator==(const Hash&) const = default;
};
Hash hash(const std::string& text) {
  std::uint64_t sum = 14'695'981'039'346'656'037u;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1'099'511'628'211u;
  return {static_cast<double>(sum >> 32), static_cast<double>(sum & 0xFFFF'FFFFu)};
}

// Every rank's; a sum preserves them, since the others add zeros.
std::vector<Hash> gpus_of(Group& ranks, const std::string& own) {
  const auto rank = static_cast<std::size_t>(ranks.rank());
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<double> numbers(2 * size);
  const Hash name = hash(own);
  numbers[2 * rank] = name.high, numbers[2 * rank + 1] = name.low;
  ranks.sum(numbers);
  std::vector<Hash> gpus;
  for (std::size_t i = 0; i < size; ++i) gpus.push_back({numbers[2 * i], numbers[2 * i + 1]});
  return gpus;
}

}  // namespace

std::unique_ptr<GpuGroup> join_nccl(Group& ranks, int gpu) {
  NcclId id{};
  if (ranks.rank() == 0) id = make_nccl_id();
  // The bytes as numbers, as above.
  std::array<double, std::tuple_size_v<NcclId>> numbers{};
  std::ranges::copy(id, numbers.begin());
  ranks.sum(numbers);
  std::ranges::transform(numbers, id.begin(), [](double byte) { return static_cast<char>(byte); });
  return join_nccl(id, ranks.rank(), ranks.size(), gpu);
}

GpuRanks join_gpus(Group& ranks, int gpu) {
  const std::vector<Hash> gpus = gpus_of(ranks, gpu_name(gpu));
  const auto on_one = [&](const Hash& name) {
    return static_cast<int>(std::ranges::count(gpus, name));
  };
  GpuRanks joined;
  joined.sharing = on_one(gpus[static_cast<std::size_t>(ranks.rank())]);
  const std::optional<std::string> lack = nccl_lack();
  double lacking = lack ? 1 : 0;
  ranks.sum({&lacking, 1});
  if (std::ranges::any_of(gpus, [&](const Hash& name) { return on_one(name) > 1; }))
    joined.why_not_nccl = "ranks share a GPU, which NCCL does not allow";
  else if (lacking > 0)
    joined.why_not_nccl = lack.value_or("another rank has no NCCL");
  joined.group = joined.why_not_nccl.empty() ? join_nccl(ranks, gpu) : sum_through_host(ranks, gpu);
  ranks.barrier();  // from here on, all have taken their memory on shared GPUs
  return joined;
}

}  // namespace sweetspot::collective
