#include "engine/cuda/resident_split.h"

namespace sweetspot::engine::cuda {

core::MemoryByUse ResidentSplit::memory() const {
  core::MemoryByUse memory;
  for (const DeviceBuffer* b : {&samples, &answers, &order}) memory[b->use()] += b->size();
  return memory;
}

ResidentSplit upload_split(Split split, const ResidentSamples& samples) {
  const auto copy = [](auto from) {
    DeviceBuffer buffer(from.size_bytes(), core::Use::input);
    check(cudaMemcpy(buffer.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice),
          "uploading the data set");
    return buffer;
  };
  ResidentSplit to;
  to.count = samples.count;
  to.samples = samples.bytes.empty() ? copy(samples.floats) : copy(samples.bytes);
  to.answers = samples.labels.empty() ? copy(samples.targets) : copy(samples.labels);
  if (samples.bytes.empty())
    to.source.floats = to.samples.as<float>();
  else
    to.source.bytes = to.samples.as<std::uint8_t>();
  if (samples.labels.empty())
    to.source.targets = to.answers.as<float>();
  else
    to.source.labels = to.answers.as<std::int32_t>();
  if (split != Split::train) return to;
  to.order = DeviceBuffer(static_cast<core::Bytes>(samples.count) * sizeof(std::uint32_t),
                          core::Use::input);
  to.source.order = to.order.as<std::uint32_t>();
  return to;
}

}  // namespace sweetspot::engine::cuda
