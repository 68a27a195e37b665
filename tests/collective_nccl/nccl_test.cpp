#include "collective/gpu/nccl.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/error.h"

namespace sweetspot::tests {
namespace {

TEST(Nccl, RefusesTwoRanksOnOneGpu) {
  if (const auto lack = collective::nccl_lack()) GTEST_SKIP() << *lack;
  const collective::NcclId id = collective::make_nccl_id();
  std::atomic<int> refused = 0;
  std::vector<std::thread> members;
  for (int rank = 0; rank < 2; ++rank)
    members.emplace_back([&, rank] {
      try {
        collective::join_nccl(id, rank, 2, 0);
      } catch (const core::MachineError&) {
        ++refused;
      }
    });
  for (std::thread& member : members) member.join();
  EXPECT_EQ(refused, 2);
}

TEST(Nccl, HasNoSharedFloats) {
  if (const auto lack = collective::nccl_lack()) GTEST_SKIP() << *lack;
  const auto group = collective::join_nccl(collective::make_nccl_id(), 0, 1, 0);
  std::vector<float> values(10);
  EXPECT_THROW(group->share(values), core::InputError);
}

}  // namespace
}  // namespace sweetspot::tests
