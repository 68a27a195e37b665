// Replaces the GPU engine in a build without the CUDA toolkit.
#include "core/error.h"
#include "engine/cuda/cuda.h"

namespace sweetspot::engine::cuda {
namespace {

constexpr const char* reason =
    "this program was built without the CUDA toolkit; install it (nvcc 12.8 or later) and build "
    "again";

}  // namespace

Availability available() { return {{}, reason}; }

core::Bytes free_memory(int) { throw core::InputError(reason); }

std::unique_ptr<Plan> plan(const model::Network&, const Options&, std::int64_t, bool) {
  throw core::InputError(reason);
}

core::MemoryByUse added_memory(const model::Network&, const Options&, std::int64_t) {
  throw core::InputError(reason);
}

std::unique_ptr<ResidentTrainer> make_trainer(const model::Network&, const Options&) {
  throw core::InputError(reason);
}

}  // namespace sweetspot::engine::cuda
