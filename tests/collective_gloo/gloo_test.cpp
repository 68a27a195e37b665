// The contract on ranks that find each other through torchrun's variables: each runs the same
// tests.
#include <cstdlib>

#include "collective/contract.h"
#include "collective/launcher.h"
#include "core/error.h"

namespace sweetspot::tests {
namespace {

// Gloo is joined once per process. Without a launcher, it is the only rank.
collective::JoinedGroup& group() {
  static const auto joined = [] {
    setenv("RANK", "0", 0), setenv("WORLD_SIZE", "1", 0);
    setenv("MASTER_ADDR", "127.0.0.1", 0), setenv("MASTER_PORT", "29431", 0);
    return collective::join_through(SWEETSPOT_GLOO_LIBRARY, "Gloo");
  }();
  return *joined;
}

class Gloo : public testing::Environment {
 public:
  void TearDown() override { group().finish(); }
};
[[maybe_unused]] const auto* environment = testing::AddGlobalTestEnvironment(new Gloo);

const Kind gloo{"ranks", collective::torchrun_ranks().value_or(1),
                [](const auto& work) { work(group()); }, false};

INSTANTIATE_TEST_SUITE_P(Gloo, GroupContract, testing::Values(gloo), name_of);

TEST(Gloo, HasNoSharedFloats) {
  std::vector<float> values(10);
  EXPECT_THROW(group().share(values), core::InputError);
}

}  // namespace
}  // namespace sweetspot::tests
