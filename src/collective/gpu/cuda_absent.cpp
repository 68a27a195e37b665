// For builds without the CUDA toolkit.
#include "collective/gpu/through_host.h"
#include "core/error.h"

namespace sweetspot::collective {

std::unique_ptr<GpuGroup> sum_through_host(Group&, int gpu) {
  gpu_name(gpu);  // throws
  return nullptr;
}

std::string gpu_name(int) {
  throw core::InputError(
      "this sweetspot was built without CUDA; build it where the CUDA toolkit is");
}

}  // namespace sweetspot::collective
