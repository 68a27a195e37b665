#include "engine/cpu/memory_planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "engine/cpu/compiled_plan.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// An arena region and its lifetime in stages: forward stage s is time s, its backward is time 2n −
// 1 − s, and the update is time 2n.
struct Stay {
  Allocation* allocation;
  core::Bytes copies;
  std::int64_t from, to;
  core::Bytes size() const { return allocation->bytes * copies; }
};

// What a 64-bit machine can address, far from overflow.
constexpr core::Bytes most_arena_bytes = core::Bytes{1} << 62;

class Assigner {
 public:
  explicit Assigner(Program& program) : program_(program) {
    for (std::size_t s = 0; s < program.stages.size(); ++s)
      for (std::size_t i = program.stages[s].begin; i < program.stages[s].end; ++i)
        stage_.push_back(static_cast<std::int64_t>(s));
  }

  void assign() {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      Op& op = *program_.ops[i];
      assign_op(op, stage_[i], i + 1 == program_.ops.size());
      if (op.in()) assign_tensor(*op.in(), producer(*op.in()), i);
    }
    place();
    place_in_turn(&Op::working);
    place_in_turn(&Op::together);
    for (const auto& op : program_.ops) op->together.of_block = true;
    for (const auto& tensor : program_.tensors)
      if (tensor->same_value_as) tensor->value = tensor->same_value_as->value;
    program_.scratch_bytes = scratch_.size();
  }

 private:
  std::int64_t backward(std::int64_t stage) const {
    return 2 * static_cast<std::int64_t>(program_.stages.size()) - 1 - stage;
  }
  // When a stage has read its inputs for the last time in forward.
  std::int64_t forward_end(std::int64_t stage) const {
    return program_.stages[static_cast<std::size_t>(stage)].with_backward ? backward(stage) : stage;
  }
  std::int64_t update() const { return 2 * static_cast<std::int64_t>(program_.stages.size()); }

  std::size_t producer(const Tensor& tensor) const {
    std::size_t i = 0;
    while (program_.ops[i]->out() != &tensor) ++i;
    return i;
  }
  // The last operation that reads a tensor's value, under any alias.
  std::size_t last_reader(const Tensor& tensor) const {
    std::size_t last = 0;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Tensor* in = program_.ops[i]->in();
      if (in && (in == &tensor || in->same_value_as == &tensor)) last = i;
    }
    return last;
  }

  void assign_op(Op& op, std::int64_t stage, bool is_loss) {
    op.shared_offset = program_.shared_floats,
    program_.shared_floats += round_up(op.shared_floats, unit);
    op.slot_offset = program_.slot_floats, program_.slot_floats += round_up(op.slot_floats, unit);
    put_in_scratch(op.temporary);
    put_in_arena(op.passing, stage, forward_end(stage));
    if (program_.training || is_loss)
      put_in_arena(op.kept, stage, is_loss || op.late() ? update() : backward(stage));
    else
      put_in_scratch(op.kept);
  }

  void assign_tensor(Tensor& tensor, std::size_t producer, std::size_t consumer) {
    tensor.value.bytes = tensor.gradient.bytes =
        static_cast<core::Bytes>(tensor.extent.floats()) * sizeof(float);
    if (tensor.tiled) {
      const std::int64_t groups = (tensor.extent.units() + 1) / 2;
      tensor.value.bytes =
          static_cast<core::Bytes>(groups * tensor.extent.positions() * tile_channels) *
          sizeof(Bf16);
      tensor.value.block = tensor.gradient.block = tile_samples;
    }
    if (tensor.rounded) {
      tensor.value.bytes = static_cast<core::Bytes>(tensor.extent.floats()) * sizeof(Bf16);
      tensor.value.block = tile_samples;
    }
    if (!tensor.same_value_as) assign_value(tensor, producer);
    if (!program_.training || consumer <= program_.first_trainable) return;
    const std::int64_t begin = stage_[producer], end = stage_[consumer];
    if (begin == end)
      put_in_scratch(tensor.gradient, samples_at_once(producer), true);
    else
      put_in_arena(tensor.gradient, backward(end),
                   program_.ops[producer]->late() ? update() : backward(begin));
  }

  void assign_value(Tensor& tensor, std::size_t producer) {
    Op& from = *program_.ops[producer];
    const std::size_t reader = last_reader(tensor);
    const Op& to = *program_.ops[reader];
    const std::int64_t begin = stage_[producer], end = stage_[reader];
    bool keeps = program_.training && (from.keeps_output() || to.keeps_input());
    // Backward begins, and repeats, with the first operation that learns.
    if (keeps && begin == end && from.repeats() && producer >= program_.first_trainable)
      from.repeated = true, keeps = false;
    if (begin == end && !keeps)
      put_in_scratch(tensor.value, samples_at_once(producer), true);
    else
      put_in_arena(tensor.value, begin,
                   !keeps      ? forward_end(end)
                   : to.late() ? update()
                               : backward(begin));
  }

  std::int64_t samples_at_once(std::size_t op) const {
    return program_.stages[static_cast<std::size_t>(stage_[op])].samples;
  }

  // What all operations use in turn.
  void place_in_turn(Allocation Op::*which) {
    core::Bytes most = 0;
    for (const auto& op : program_.ops) most = std::max(most, ((*op).*which).bytes);
    const core::Bytes offset = scratch_.add(most);
    for (const auto& op : program_.ops)
      ((*op).*which).per_thread = true, ((*op).*which).offset = offset;
  }

  void put_in_scratch(Allocation& allocation, std::int64_t copies = 1, bool of_block = false) {
    allocation.per_thread = true, allocation.copies = copies, allocation.of_block = of_block;
    allocation.offset = scratch_.add(allocation.bytes * static_cast<core::Bytes>(copies));
  }
  void put_in_arena(Allocation& allocation, std::int64_t from, std::int64_t to) {
    const auto micro_batch =
        static_cast<core::Bytes>(round_up(program_.micro_batch, allocation.block));
    if (allocation.bytes > 0)
      stays_.push_back({&allocation, allocation.once ? 1 : micro_batch, from, to});
  }

  // Largest first, each at the lowest offset that no region of an overlapping lifetime occupies.
  void place() {
    std::stable_sort(stays_.begin(), stays_.end(),
                     [](const Stay& a, const Stay& b) { return a.size() > b.size(); });
    std::vector<Stay> placed;  // by offset
    for (const Stay& stay : stays_) {
      core::Bytes offset = 0;
      const core::Bytes size = stay.size();
      if (stay.allocation->bytes > most_arena_bytes / stay.copies / stays_.size())
        throw core::InputError(
            fmt::format("a batch of {} takes more memory than any machine has; use a smaller one",
                        program_.micro_batch));
      for (const Stay& other : placed) {
        if (other.to < stay.from || stay.to < other.from) continue;
        if (offset + size <= other.allocation->offset) break;
        offset = std::max(offset, other.allocation->offset + other.size());
      }
      stay.allocation->offset = offset;
      program_.arena_bytes = std::max(program_.arena_bytes, offset + size);
      placed.insert(
          std::upper_bound(placed.begin(), placed.end(), offset,
                           [](core::Bytes at, const Stay& s) { return at < s.allocation->offset; }),
          stay);
    }
  }

  Program& program_;
  std::vector<std::int64_t> stage_;
  std::vector<Stay> stays_;
  ScratchLayout scratch_;
};

}  // namespace

void plan_memory(Program& program) { Assigner(program).assign(); }

}  // namespace sweetspot::engine::cpu
