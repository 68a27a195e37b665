#include "engine/cuda/staging.h"

#include <cstring>

namespace sweetspot::engine::cuda {

Staging::Staged Staging::stage(const Executor& executor, const BatchView& micro_batch) {
  turn_ ^= 1;
  copied_[turn_].wait("copying a batch");
  const HostBatch& sizes = executor.program().host_batch;
  Pinned<std::byte>& host = host_[turn_];
  host.resize(sizes.inputs_bytes + sizes.answers_bytes);
  const auto fill = [&](core::Bytes offset, const auto* from, std::int64_t each) {
    const core::Bytes bytes = static_cast<core::Bytes>(micro_batch.count * each) * sizeof *from;
    std::memcpy(host.data() + offset, from, bytes);
    return offset + bytes;
  };
  fill(0, micro_batch.inputs, sizes.sample_floats);
  const core::Bytes end = micro_batch.targets
                              ? fill(sizes.inputs_bytes, micro_batch.targets, sizes.outputs)
                              : fill(sizes.inputs_bytes, micro_batch.labels, 1);
  // One copy including the gap between samples and answers: cheaper than two.
  used_[turn_].hold(copies_);
  check(cudaMemcpyAsync(executor.host_buffer(turn_), host.data(), end, cudaMemcpyHostToDevice, copies_),
        "copying a batch");
  copied_[turn_].record(copies_);
  copied_[turn_].hold(steps_);
  return {executor.source(turn_, micro_batch.targets != nullptr), turn_};
}

}  // namespace sweetspot::engine::cuda
