#include "host_ranks.h"

#include <gtest/gtest.h>

#include "collective/joined_group.h"
#include "collective/launcher.h"
#include "collective/threads/threads.h"

namespace sweetspot::tests {
namespace {

collective::JoinedGroup* joined() {
  static const auto group =
      collective::started_ranks() ? collective::join_mpi(SWEETSPOT_MPI_LIBRARY) : nullptr;
  return group.get();
}

class Ranks : public testing::Environment {
 public:
  void SetUp() override { joined(); }
  void TearDown() override {
    if (joined()) joined()->finish();
  }
};
[[maybe_unused]] const auto* environment = testing::AddGlobalTestEnvironment(new Ranks);

}  // namespace

collective::Group& host_ranks() {
  static const auto alone = collective::alone();
  if (joined()) return *joined();
  return *alone;
}

}  // namespace sweetspot::tests
