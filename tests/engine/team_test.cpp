#include "engine/cpu/team.h"

#include <gtest/gtest.h>
#include <sched.h>

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

class Affinity {
 public:
  Affinity() { sched_getaffinity(0, sizeof(set_), &set_); }
  ~Affinity() { apply(); }
  void apply() const { sched_setaffinity(0, sizeof(set_), &set_); }
  int count() const { return CPU_COUNT(&set_); }
  cpu_set_t one() const {
    int core = 0;
    while (!CPU_ISSET(core, &set_)) ++core;
    cpu_set_t alone;
    CPU_ZERO(&alone);
    CPU_SET(core, &alone);
    return alone;
  }
  bool operator==(const Affinity& other) const { return CPU_EQUAL(&set_, &other.set_); }

 private:
  cpu_set_t set_;
};

TEST(MemberCores, AMemberLeavesACoreThatItSharesAndMayUseAllAsBefore) {
  const Affinity all;
  if (all.count() < 2) GTEST_SKIP() << "one core";
  const cpu_set_t alone = all.one();
  sched_setaffinity(0, sizeof(alone), &alone);
  const int shared = sched_getcpu();
  MemberCores cores(2);
  cores.note(0), cores.note(1);
  cores.part(0, false);
  EXPECT_EQ(sched_getcpu(), shared) << "it has no other core";
  // The scheduler may move it back, but hardly each time.
  int moved = 0;
  constexpr int tries = 5;
  for (int i = 0; i < tries; ++i) {
    sched_setaffinity(0, sizeof(alone), &alone);
    MemberCores anew(2);
    anew.note(0), anew.note(1);
    all.apply();
    anew.part(1, false);
    moved += sched_getcpu() != shared;
    EXPECT_TRUE(Affinity() == all);
  }
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace sweetspot::engine::cpu
