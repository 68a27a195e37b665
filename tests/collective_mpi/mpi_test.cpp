// The contract on ranks that mpirun started: each runs the same tests.
#include <cstdlib>

#include "collective/contract.h"
#include "collective/joined_group.h"
#include "collective/launcher.h"

namespace sweetspot::tests {
namespace {

// MPI is joined once per process, so a process tests one kind of all-reduce.
collective::JoinedGroup& group() {
  static const auto joined = collective::join_mpi(
      SWEETSPOT_MPI_LIBRARY,
      std::getenv("SUMS_BY_MESSAGES") ? collective::Sums::messages : collective::Sums::fastest);
  return *joined;
}

class Mpi : public testing::Environment {
 public:
  void TearDown() override { group().finish(); }
};
[[maybe_unused]] const auto* environment = testing::AddGlobalTestEnvironment(new Mpi);

const Kind mpi{"ranks", collective::started_ranks().value_or(1),
               [](const auto& work) { work(group()); }};

INSTANTIATE_TEST_SUITE_P(Mpi, GroupContract, testing::Values(mpi), name_of);

}  // namespace
}  // namespace sweetspot::tests
