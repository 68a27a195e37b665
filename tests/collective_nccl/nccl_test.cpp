#include "collective/nccl/nccl.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "collective/contract.h"
#include "core/error.h"

namespace sweetspot::tests {
namespace {

Kind nccl(int ranks) {
  return {"ranks_" + std::to_string(ranks), ranks,
          [ranks](const auto& work) {
            if (const auto lack = collective::nccl_lack()) GTEST_SKIP() << *lack;
            const collective::NcclId id = collective::make_nccl_id();
            std::vector<std::thread> members;
            for (int rank = 0; rank < ranks; ++rank)
              members.emplace_back([&, rank] { work(*collective::join_nccl(id, rank, ranks, 0)); });
            for (std::thread& member : members) member.join();
          },
          false};
}

INSTANTIATE_TEST_SUITE_P(Nccl, GroupContract, testing::Values(nccl(1)), name_of);

TEST(Nccl, TwoRanksOnOneGpuAreRefusedInWords) {
  if (const auto lack = collective::nccl_lack()) GTEST_SKIP() << *lack;
  const collective::NcclId id = collective::make_nccl_id();
  std::vector<std::string> told(2);
  std::vector<std::thread> members;
  for (int rank = 0; rank < 2; ++rank)
    members.emplace_back([&, rank] {
      try {
        collective::join_nccl(id, rank, 2, 0);
      } catch (const core::MachineError& error) {
        told[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& member : members) member.join();
  EXPECT_THAT(told, testing::Each(testing::HasSubstr("NCCL's start failed")));
}

TEST(Nccl, HasNoSharedFloats) {
  if (const auto lack = collective::nccl_lack()) GTEST_SKIP() << *lack;
  const auto group = collective::join_nccl(collective::make_nccl_id(), 0, 1, 0);
  std::vector<float> values(10);
  EXPECT_THROW(group->share(values), core::InputError);
}

}  // namespace
}  // namespace sweetspot::tests
