#include "collective/threads/threads.h"

#include <thread>

#include "collective/contract.h"
#include "core/error.h"

namespace sweetspot::tests {
namespace {

using collective::Group;

Kind threads(int ranks) {
  return {"threads_" + std::to_string(ranks), ranks, [ranks](const auto& work) {
            std::vector<std::thread> members;
            for (auto& group : collective::thread_groups(ranks))
              members.emplace_back([&work, group = std::move(group)] { work(*group); });
            for (std::thread& member : members) member.join();
          }};
}

const Kind one_process{"one_process", 1, [](const auto& work) { work(*collective::alone()); }};

INSTANTIATE_TEST_SUITE_P(Groups, GroupContract,
                         testing::Values(one_process, threads(2), threads(3), threads(4)), name_of);

TEST(ThreadGroups, ARankThatEndsIsNamedToTheOthers) {
  auto groups = collective::thread_groups(2);
  std::string told;
  std::thread other([&] {
    try {
      std::vector<float> values{1};
      groups[0]->all_reduce(values);
    } catch (const core::MachineError& error) {
      told = error.what();
    }
  });
  groups[1]->abandon(1, "the disk is full");
  other.join();
  EXPECT_EQ(told, "rank 1 ended: the disk is full");
}

}  // namespace
}  // namespace sweetspot::tests
