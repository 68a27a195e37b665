#pragma once
#include <memory>
#include <vector>

#include "core/buffer.h"
#include "engine/cuda/cuda.h"
#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/op.h"
#include "engine/cuda/ops/product.h"
#include "engine/cuda/weights.h"

namespace sweetspot::engine::cuda {

// A micro-batch from the host, in one device buffer: samples, then labels or targets.
struct HostBatch {
  core::Bytes inputs_bytes = 0, answers_bytes = 0;  // rounded up
  std::int64_t sample_floats = 0, outputs = 0;

  core::Bytes bytes() const { return inputs_bytes + answers_bytes; }
};
// Samples [first, first + count) of `batch`.
BatchView part_of(const BatchView& batch, const HostBatch& host, std::int64_t first,
                  std::int64_t count);

// A network compiled for one micro-batch: operations, and the place of every byte. Only this
// description is allocated.
struct Program {
  std::int64_t micro_batch = 0;
  bool training = true;
  WeightLayout weights;
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<std::unique_ptr<Op>> ops;
  std::size_t first_trainable = 0;  // backward stops after this operation
  const LossOp* loss = nullptr;     // the last operation

  core::Bytes arena_bytes = 0;
  // Their offsets in the arena.
  core::Bytes scratch = 0, branch_scratch = 0, tickets = 0, packed_input = 0, packed_gradient = 0;
  bool branches = false;  // of the backward pass
  // In fp16 a step is skipped if a gradient overflows, which no operation before this one can cause.
  std::size_t first_overflow = 0;
  std::int64_t partial_floats = 0;
  HostBatch host_batch;
  // Training has two such buffers, one to fill while the other is read.
  int host_rooms() const { return training ? 2 : 1; }
  std::vector<PartialGradients> partials() const;
  std::vector<Penalty> penalties;
  core::Bytes penalty_sums = 0;  // their offset in the arena
};

Program compile(const model::Network& network, model::Loss loss, std::int64_t micro_batch,
                bool training, Math math, const Chip& chip);

std::vector<Operation> operations_of(const Program& program, Precision precision);

// What the trainer holds regardless of its plans, and what one program adds.
constexpr core::Bytes history_steps = 1 << 16;  // per start(): 1.5 MiB
core::MemoryByUse trainer_memory(const WeightLayout& weights, const Options& options);
core::Bytes operand_bytes(const WeightLayout& weights, Precision precision);
Math math_of(Precision precision);
core::MemoryByUse program_memory(const Program& program);

}  // namespace sweetspot::engine::cuda
