#include "engine/cuda/cuda.h"

namespace sweetspot::engine::cuda {

std::string_view name(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
  }
  return "";
}

core::Bytes resident_bytes(const ResidentSamples& samples, Split split) {
  const auto answers = samples.labels.size_bytes() + samples.targets.size_bytes();
  const auto order =
      split == Split::train ? static_cast<core::Bytes>(samples.count) * sizeof(std::uint32_t) : 0;
  return samples.bytes.size_bytes() + samples.floats.size_bytes() + answers + order;
}

}  // namespace sweetspot::engine::cuda
