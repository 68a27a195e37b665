#include "collective/gloo/gloo.h"

#include "collective/environment.h"
#include "core/error.h"

namespace sweetspot::collective {

std::optional<int> torchrun_ranks() {
  for (const char* variable : {"RANK", "MASTER_ADDR", "MASTER_PORT"})
    if (!std::getenv(variable)) return std::nullopt;
  return positive_in("WORLD_SIZE");
}

std::optional<std::filesystem::path> gloo_library() {
  return ranks_library("libsweetspot_gloo.so");
}

std::unique_ptr<JoinedGroup> join_gloo() {
  const auto library = gloo_library();
  if (!library)
    throw core::InputError(
        "this sweetspot was built without Gloo, which ranks of torchrun meet through; install "
        "libgloo-dev (scripts/setup does) and build it again, or start them with mpirun");
  return join_through(*library, "Gloo");
}

}  // namespace sweetspot::collective
