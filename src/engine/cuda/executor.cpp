#include "engine/cuda/executor.h"

#include <algorithm>

namespace sweetspot::engine::cuda {

Executor::Executor(Program program, cudaStream_t stream)
    : program_(std::move(program)), stream_(stream) {
  const core::MemoryByUse memory = program_memory(program_);
  const auto make = [&](core::Use use) { return DeviceBuffer(memory[use], use); };
  arena_ = make(core::Use::activations), partials_ = make(core::Use::gradients);
  input_ = make(core::Use::input);
  if (!program_.training) return;
  for (const PartialGradients& p : program_.partials())
    segments_.push_back({p.weights, static_cast<int>(p.floats), p.splits,
                         partials_.as<float>() + p.offset, p.floats, 0});
  update_blocks_ = lay_out_blocks(segments_.data(), static_cast<int>(segments_.size()));
}

core::MemoryByUse Executor::memory() const {
  core::MemoryByUse memory;
  for (const DeviceBuffer* b : {&arena_, &partials_, &input_}) memory[b->use()] += b->size();
  return memory;
}

Pass Executor::pass() const {
  Pass pass;
  pass.arena = arena_.data(), pass.partials = partials_.as<float>();
  pass.training = program_.training;
  pass.stream = stream_;
  return pass;
}

Update Executor::update() const {
  Update u{};
  std::ranges::copy(segments_, u.segments);
  u.segment_count = static_cast<int>(segments_.size());
  u.blocks = update_blocks_;
  u.losses = arena_.as<float>(program_.loss->rooms.losses);
  u.correct = arena_.as<std::uint8_t>(program_.loss->rooms.correct);
  return u;
}

Source Executor::copy_in(const BatchView& batch, std::int64_t first, std::int64_t count,
                         std::int64_t sample_floats, std::int64_t outputs) const {
  const auto copy = [&](core::Bytes offset, const auto* from, std::int64_t each) {
    check(cudaMemcpyAsync(input_.data() + offset, from + first * each,
                          static_cast<std::size_t>(count * each) * sizeof(*from),
                          cudaMemcpyHostToDevice, stream_),
          "copying a batch");
  };
  Source source;
  copy(0, batch.inputs, sample_floats);
  source.floats = input_.as<float>();
  if (batch.targets) {
    copy(program_.inputs_bytes, batch.targets, outputs);
    source.targets = input_.as<float>(program_.inputs_bytes);
  } else {
    copy(program_.inputs_bytes, batch.labels, 1);
    source.labels = input_.as<std::int32_t>(program_.inputs_bytes);
  }
  return source;
}

void Executor::forward(Pass& pass) const {
  for (const auto& op : program_.ops) op->forward(pass);
}

void Executor::backward(Pass& pass) const {
  for (std::size_t i = program_.ops.size(); i-- > program_.first_trainable;)
    program_.ops[i]->backward(pass);
  pass.flush();
}

}  // namespace sweetspot::engine::cuda
