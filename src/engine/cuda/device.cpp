#include "engine/cuda/device.h"

#include <fmt/format.h>

#include "core/error.h"
#include "engine/cuda/cuda.h"

namespace sweetspot::engine::cuda {
namespace {

constexpr int oldest_major = 9;  // the kernels are compiled for Hopper, and as PTX for what follows

std::string version(int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); }

std::string why_none(cudaError_t error, int driver, int runtime) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      if (driver == 0) return "no NVIDIA driver is installed; install one, or use --device cpu";
      return fmt::format(
          "the NVIDIA driver supports CUDA {}, but this program needs {}; update the driver",
          version(driver), version(runtime));
    case cudaErrorNoDevice:
      return "the NVIDIA driver shows no GPU; look at CUDA_VISIBLE_DEVICES and at nvidia-smi";
    default:
      return fmt::format("the NVIDIA driver does not answer ({}); look at nvidia-smi",
                         cudaGetErrorString(error));
  }
}

}  // namespace

void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // what can be forgotten is
  if (error == cudaErrorMemoryAllocation)
    throw core::MachineError(
        fmt::format("the GPU has no memory left for {}; use a smaller batch", doing));
  throw core::MachineError(fmt::format("the GPU failed at {}: {} ({})", doing,
                                       cudaGetErrorString(error), cudaGetErrorName(error)));
}

DeviceBuffer::DeviceBuffer(core::Bytes size, core::Use use) : size_(size), use_(use) {
  if (size == 0) return;
  void* data = nullptr;
  check(cudaMalloc(&data, size), "its buffers");
  data_ = static_cast<std::byte*>(data);
  // Streams that do not wait for the default one must not find it still at work here.
  check(cudaMemset(data_, 0, size), "zeroing its buffers");
  check(cudaStreamSynchronize(cudaStreamLegacy), "zeroing its buffers");
}

Availability available() {
  Availability found;
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver), cudaRuntimeGetVersion(&runtime);
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    found.reason = why_none(error == cudaSuccess ? cudaErrorNoDevice : error, driver, runtime);
    return found;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) {
      found.reason = fmt::format("GPU {} does not answer; look at nvidia-smi", i);
      continue;
    }
    if (properties.major < oldest_major) {
      found.reason = fmt::format(
          "GPU {} ({}) has compute capability {}.{}, and the kernels need {}.0; use --device cpu",
          i, properties.name, properties.major, properties.minor, oldest_major);
      continue;
    }
    found.devices.push_back({i, properties.name, properties.major, properties.minor,
                             properties.multiProcessorCount, properties.totalGlobalMem, driver,
                             runtime,
                             fmt::format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID,
                                         properties.pciBusID, properties.pciDeviceID)});
  }
  if (!found.devices.empty()) found.reason.clear();
  return found;
}

}  // namespace sweetspot::engine::cuda
