#pragma once
#include "engine/cuda/cuda.h"
#include "engine/cuda/device.h"
#include "engine/cuda/kernels/params.h"

namespace sweetspot::engine::cuda {

// One split of the data set on the device.
struct ResidentSplit {
  DeviceBuffer samples, answers, order;
  std::int64_t count = 0;
  Source source;

  core::MemoryByUse memory() const;
};
ResidentSplit upload_split(Split split, const ResidentSamples& samples);

}  // namespace sweetspot::engine::cuda
