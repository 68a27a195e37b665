#pragma once
#include <memory>
#include <vector>

#include "core/buffer.h"
#include "engine/cpu/op.h"
#include "engine/cpu/weights.h"
#include "engine/trainer.h"
#include "model/network.h"

namespace sweetspot::engine::cpu {

// Operations [begin, end) that a sample passes through in sequence, or one whole operation.
struct Stage {
  std::size_t begin, end;
  bool whole;
  std::int64_t samples = 1;  // that go through each operation together
  std::int64_t block = 1;    // they begin at a multiple of this, and are as many, but for the last
  bool with_backward = false;  // the last one: a sample's forward and backward are one
  // After this stage, backward has computed the gradients of all weights from here on.
  std::int64_t made_from = 0;
};

// A network compiled for one micro-batch: operations, stages, and the place of every byte. Only
// this description is allocated.
struct Program {
  std::int64_t micro_batch = 0;
  bool training = true;
  WeightLayout weights;
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<std::unique_ptr<Op>> ops;   // the last one is the loss
  std::vector<std::size_t> operation_of;  // each op's index in the list shown to users
  std::vector<Stage> stages;              // in forward order
  std::size_t first_trainable = 0;        // backward stops after this operation
  std::vector<Range> early_weights;       // updated in one flat pass, when gradients are late

  core::Bytes arena_bytes = 0;
  core::Bytes scratch_bytes = 0;  // of one thread
  std::int64_t shared_floats = 0, slot_floats = 0;
  std::int64_t block = 1;  // the largest of a stage: slots begin at a multiple of it

  const Op& loss() const { return *ops.back(); }
  std::size_t operation_count() const { return operation_of.back() + 1; }
};

// `precision` is that of training; evaluation uses the unrounded weights, in fp32.
Program compile(const model::Network& network, model::Loss loss, std::int64_t micro_batch,
                bool training, Precision precision);

// The network without dropout and noise: as in evaluation, but differentiable.
model::Network without_randomness(model::Network network);

// The layout of the flat weight buffer, the same for every program of a network.
WeightLayout weight_layout(const model::Network& network);

}  // namespace sweetspot::engine::cpu
