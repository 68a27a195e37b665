#include "engine/cuda/cuda.h"

namespace sweetspot::engine::cuda {

core::Bytes resident_bytes(const ResidentSamples& samples, Split split) {
  const auto answers = samples.labels.size_bytes() + samples.targets.size_bytes();
  const auto order =
      split == Split::train ? static_cast<core::Bytes>(samples.count) * sizeof(std::uint32_t) : 0;
  return samples.bytes.size_bytes() + samples.floats.size_bytes() + answers + order;
}

}  // namespace sweetspot::engine::cuda
