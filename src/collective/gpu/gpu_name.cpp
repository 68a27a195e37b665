#include "collective/gpu/gpu_name.h"

#include <unistd.h>

#include <array>

#include "collective/gpu/cuda_errors.h"

namespace sweetspot::collective {

std::string gpu_name(int gpu) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::array<char, 64> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), gpu), "naming the GPU");
  return std::string(host.data()) + ' ' + bus.data();
}

}  // namespace sweetspot::collective
