#include "engine/cpu/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace sweetspot::engine::cpu {
namespace {

// Work that the compiler cannot remove.
void compute(std::uint32_t amount) {
  volatile std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < amount; ++i) sum = sum + i;
}

// More members than cores, and waits of every length: a member that was not woken would wait for
// ever, and one that passed a barrier too early would see another's old count.
TEST(Team, EveryMemberPassesEveryBarrierWithTheOthers) {
  constexpr int members = 6, runs = 40, barriers = 25;
  Team team(members);
  std::vector<std::atomic<int>> passed(members);
  std::atomic<int> early{0};
  for (int run = 0; run < runs; ++run) {
    auto work = [&](int member) {
      for (int i = 0; i < barriers; ++i) {
        const auto draw = static_cast<std::uint32_t>(run * 31 + i * 17 + member * 7) % 11;
        compute(draw == 0 ? 3'000'000 : draw * 200);  // some longer than any spinning
        const int before = ++passed[static_cast<std::size_t>(member)];
        team.barrier();
        for (const std::atomic<int>& other : passed)
          if (other < before) ++early;
        team.barrier();
      }
    };
    team.run(work);
  }
  EXPECT_EQ(early, 0);
  for (const std::atomic<int>& count : passed) EXPECT_EQ(count, runs * barriers);
}

}  // namespace
}  // namespace sweetspot::engine::cpu
