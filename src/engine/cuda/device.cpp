#include "engine/cuda/device.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/error.h"
#include "core/text.h"
#include "engine/cuda/cuda.h"

namespace sweetspot::engine::cuda {
namespace {

// The kernels need Ampere's instructions, and are compiled for this and later (80 for compute
// capability 8.0).
constexpr int oldest = SWEETSPOT_OLDEST_GPU < 80 ? 80 : SWEETSPOT_OLDEST_GPU;
// Built where there was no GPU: they would run, but far too slowly to measure anything.
constexpr bool unoptimised = SWEETSPOT_UNOPTIMISED_KERNELS;

std::string version(int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); }

// The variables that hide GPUs.
std::string hidden_words() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible)
    return "the NVIDIA driver shows no GPU; look at nvidia-smi -L (a GPU divided by MIG needs an "
           "instance), or use --device cpu";
  if (*visible == '\0')
    return "CUDA_VISIBLE_DEVICES is empty, which hides every GPU; unset it, or use --device cpu";
  return fmt::format(
      "CUDA_VISIBLE_DEVICES={} names no GPU of this machine; look at nvidia-smi -L, or use "
      "--device cpu",
      core::printable(visible));
}

std::string why_none(cudaError_t error, int driver, int runtime) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      if (driver == 0) return "no NVIDIA driver is installed; install one, or use --device cpu";
      return fmt::format(
          "the NVIDIA driver supports CUDA {}, but this program needs {}; update the driver",
          version(driver), version(runtime));
    case cudaErrorNoDevice:
      return hidden_words();
    default:
      return fmt::format("the NVIDIA driver does not answer ({}); look at nvidia-smi",
                         cudaGetErrorString(error));
  }
}

double attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) cudaGetLastError();
  return value;
}

// Memory transfers twice per clock cycle.
double memory_bytes_per_second(int device) {
  constexpr double hertz = 1e3, transfers = 2, bits = 8;
  return transfers * hertz * attribute(cudaDevAttrMemoryClockRate, device) *
         attribute(cudaDevAttrGlobalMemoryBusWidth, device) / bits;
}

}  // namespace

void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clear a recoverable error
  if (error == cudaErrorMemoryAllocation)
    throw core::OutOfMemory(
        fmt::format("the GPU has no memory left for {}; use a smaller batch", doing));
  const std::string what =
      fmt::format("{}: {} ({})", doing, cudaGetErrorString(error), cudaGetErrorName(error));
  if (cudaFree(nullptr) != cudaSuccess)  // a no-op, which fails if the device is lost
    throw core::DeviceLost(
        fmt::format("the GPU was lost at {}; look at nvidia-smi, then start again", what));
  throw core::MachineError(fmt::format("the GPU failed at {}", what));
}

DeviceBuffer::DeviceBuffer(core::Bytes size, core::Use use) : size_(size), use_(use) {
  if (size == 0) return;
  void* data = nullptr;
  check(cudaMalloc(&data, size), "its buffers");
  data_ = static_cast<std::byte*>(data);
  // Streams that do not synchronise with the default one must not start while it is still zeroing.
  check(cudaMemset(data_, 0, size), "zeroing its buffers");
  check(cudaStreamSynchronize(cudaStreamLegacy), "zeroing its buffers");
}

core::Bytes free_memory(int device) {
  std::size_t free = 0, total = 0;
  check(cudaSetDevice(device), "choosing the device");
  check(cudaMemGetInfo(&free, &total), "asking for its memory");
  return free;
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
  if (unoptimised) {
    found.reason =
        "this program was built on a machine without a GPU, and its kernels were not optimised; "
        "build it with -DSWEETSPOT_CUDA_PTX=OFF, or with make install, or use --device cpu";
    return found;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) {
      found.reason = fmt::format("GPU {} does not answer; look at nvidia-smi", i);
      continue;
    }
    if (10 * properties.major + properties.minor < oldest) {
      found.reason = fmt::format(
          "GPU {} ({}) has compute capability {}.{}, and this program's kernels need {}.{}{}; use "
          "--device cpu",
          i, properties.name, properties.major, properties.minor, oldest / 10, oldest % 10,
          oldest > 80 ? " (or build it with a lower CMAKE_CUDA_ARCHITECTURES)" : "");
      continue;
    }
    found.devices.push_back({i, properties.name, properties.major, properties.minor,
                             properties.multiProcessorCount, properties.totalGlobalMem, driver,
                             runtime,
                             fmt::format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID,
                                         properties.pciBusID, properties.pciDeviceID),
                             1e3 * attribute(cudaDevAttrClockRate, i), memory_bytes_per_second(i)});
  }
  if (!found.devices.empty()) found.reason.clear();
  return found;
}

}  // namespace sweetspot::engine::cuda
