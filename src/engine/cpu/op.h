#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/cpu/kernels/bf16.h"
#include "engine/cpu/kernels/kernels.h"
#include "engine/cpu/tensor.h"
#include "engine/cpu/weights.h"
#include "model/network.h"

namespace sweetspot::engine::cpu {

// One pass of a micro-batch through a plan: the memory, the samples and the options.
struct Pass {
  const Kernels* kernels = nullptr;
  const Bf16Kernels* bf16 = nullptr;  // null if no operation uses them
  std::byte* arena = nullptr;
  std::byte* scratch = nullptr;  // of member 0; the others follow
  core::Bytes scratch_stride = 0;
  float* shared = nullptr;  // weights in other layouts, rebuilt each step
  float* weights = nullptr;
  std::uint64_t weights_version = 0;  // another one whenever they may have changed
  float* gradients = nullptr;
  float* slots = nullptr;  // partial gradients of convolutions
  std::int64_t slot_floats = 0;

  const float* inputs = nullptr;  // of the micro-batch
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;
  std::int64_t count = 0;  // samples of the micro-batch
  std::int64_t first = 0;  // its first sample's index in the batch
  std::int64_t batch = 0;  // samples of the whole batch
  std::int64_t used_slots = 1;
  bool folds_slots = false;  // slot 0 has the sum so far, slot 1 is added when it is complete
  std::uint32_t step = 0;
  std::uint64_t seed = 0;
  bool training = true;
  bool keeps_averages = false;     // leaves batch normalisation's moving averages unchanged
  bool moving_statistics = false;  // normalise by moving averages, and leave them unchanged
  bool adds = false;               // add to the gradients of earlier micro-batches
  bool late_gradients = false;     // dense layers compute their weight gradients in the update
  std::int64_t shared_block = 0;   // samples of a block that several threads share; 0: none do

  // Where a slot is, and how many places slots have; those whose sum is yet to be made.
  std::int64_t slot_place(std::int64_t slot) const {
    return folds_slots ? std::min<std::int64_t>(slot, 1) : slot;
  }
  std::int64_t slot_places() const { return slot_place(used_slots - 1) + 1; }
  std::int64_t unsummed_slots() const { return folds_slots ? 1 : used_slots; }

  template <class T = float>
  T* at(const Allocation& allocation, std::int64_t sample, int thread) const {
    // Threads that share a block use the scratch of one of them; there are more threads than
    // blocks.
    const std::int64_t member =
        allocation.of_block && shared_block > 0 ? sample / shared_block : thread;
    std::byte* base =
        allocation.per_thread
            ? scratch + static_cast<core::Bytes>(member) * scratch_stride +
                  static_cast<core::Bytes>(sample % allocation.copies) * allocation.bytes
            : arena + sample * allocation.bytes;
    return reinterpret_cast<T*>(base + allocation.offset);
  }
};

// Part `part` of `parts` of [0, count).
struct Range {
  std::int64_t begin, end;
};
inline Range share(std::int64_t count, int part, int parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// Some of the samples whose partial gradients one thread sums into a slot.
struct SlotPart {
  Range samples;
  std::int64_t slot;
  bool begins, ends;  // contains the slot's first samples, its last ones
};

// What one of several threads that share a block does of an operation: a part of one step.
struct Piece {
  int step, part, parts;
  Range of(std::int64_t count) const { return share(count, part, parts); }
};

// Applies the optimizer to weights [offset, offset + count) given their gradients, to which it adds
// the penalty gradients.
class Update {
 public:
  virtual void apply(std::int64_t offset, std::int64_t count, float* gradients,
                     const Following& following) const = 0;
  // The same for a panel of weights, an even number of rows, which it also leaves in bf16; false:
  // it does not know how to, and has done nothing.
  virtual bool apply_to_pairs(const Bf16Kernels& kernels, std::int64_t offset, std::int64_t rows,
                              float* gradients, const Following& following,
                              const PanelPairs& to) const = 0;
  // What it reads and writes there: the weight and up to two numbers of state; null: none.
  virtual std::array<const float*, 3> memory(std::int64_t offset) const = 0;

 protected:
  ~Update() = default;
};

// One operation of a plan. Most work a sample at a time, so that a sample's activations stay in
// cache from one operation to the next; those that need the whole micro-batch are `whole` and
// divide it among the threads themselves.
class Op {
 public:
  Op(std::string name, Tensor* in, Tensor* out) : name_(std::move(name)), in_(in), out_(out) {}
  virtual ~Op() = default;

  const std::string& name() const { return name_; }
  virtual std::string method() const = 0;  // its algorithm, in words
  virtual bool whole() const { return false; }
  virtual bool keeps_input() const { return false; }   // backward reads the input's value
  virtual bool keeps_output() const { return false; }  // backward reads the output's value
  // Sample-wise and so cheap that backward repeats forward instead of keeping the output in the
  // arena, if nothing outside the stage reads it.
  virtual bool repeats() const { return false; }
  virtual bool late() const { return false; }  // the update reads input value and output gradient

  // Sample-wise operations.
  virtual void forward(const Pass&, std::int64_t /*sample*/, int /*thread*/) {}
  virtual void backward(const Pass&, std::int64_t /*sample*/, int /*thread*/,
                        std::int64_t /*slot*/) {}
  // Operations that read large weights for small images need several samples at once.
  virtual std::int64_t samples_at_once() const { return 1; }
  // Operations that need the same samples in every call: from a multiple of this number on.
  virtual std::int64_t block() const { return 1; }
  // Whether its output may be tiled, or rounded.
  virtual bool makes_tiles() const { return false; }
  virtual bool rounds_output() const { return false; }
  // Operations that are faster on several samples at once, without imposing that on their stage.
  virtual std::int64_t samples_welcome() const { return 1; }
  virtual void forward_some(const Pass& pass, const Range& samples, int thread) {
    for (std::int64_t s = samples.begin; s < samples.end; ++s) forward(pass, s, thread);
  }
  virtual void backward_some(const Pass& pass, const SlotPart& part, int thread) {
    for (std::int64_t s = part.samples.begin; s < part.samples.end; ++s)
      backward(pass, s, thread, part.slot);
  }

  // A micro-batch may have fewer blocks than there are threads, which then share them: all threads
  // run an operation of the stage before the next one begins, and a barrier follows each step. No
  // sum may depend on the number of parts. Operations without blocks divide the samples, unless
  // they add to a slot.
  virtual int forward_steps() const { return 1; }
  virtual int backward_steps() const { return 1; }
  virtual void forward_piece(const Pass& pass, const Range& samples, const Piece& piece,
                             int thread) {
    forward_some(pass, part_of(samples, piece), thread);
  }
  virtual void backward_piece(const Pass& pass, const SlotPart& part, const Piece& piece,
                              int thread) {
    if (slot_floats == 0)
      backward_some(pass, {part_of(part.samples, piece), part.slot, part.begins, part.ends},
                    thread);
    else if (piece.part == 0)
      backward_some(pass, part, thread);
  }

  // Whether the first part of a slot is stored and not added: no zeros are needed before it.
  virtual bool begins_slots() const { return false; }
  // Whether it adds a slot's last part to slot 0 itself, if the pass folds slots.
  virtual bool folds_own_slots() const { return false; }

  // Whole operations; a barrier follows each phase.
  virtual int forward_phases() const { return 1; }
  virtual int backward_phases() const { return 1; }
  virtual void forward_part(const Pass&, int /*phase*/, int /*part*/, int /*parts*/) {}
  virtual void backward_part(const Pass&, int /*phase*/, int /*part*/, int /*parts*/) {}

  // Any operation: weights in the layouts that the pass needs; slots into gradients; the update of
  // what `late` postponed.
  virtual void prepare_part(const Pass&, int /*part*/, int /*parts*/) {}
  virtual void gather_part(const Pass&, int /*part*/, int /*parts*/) {}
  virtual void update_part(const Pass&, const Update&, int /*thread*/, int /*part*/,
                           int /*parts*/) {}
  // Whether update_part leaves the updated weights as prepare_part would: they are in cache then.
  virtual bool prepares_in_update() const { return false; }
  // The variables that update_part updates, when gradients are late.
  virtual Range late_weights() const { return {0, 0}; }

  // Read and set by the planner.
  Tensor* in() const { return in_; }
  Tensor* out() const { return out_; }
  Allocation kept;       // bytes per sample that live from forward to backward
  Allocation passing;    // bytes that live during forward
  Allocation temporary;  // bytes of scratch per thread
  Allocation working;    // the same, but shared by all operations in turn
  Allocation together;   // as working, for all threads that share a block
  std::int64_t shared_floats = 0, shared_offset = 0;
  std::int64_t slot_floats = 0, slot_offset = 0;
  bool wants_input_gradient = true;  // false for the first operation
  bool repeated = false;             // backward begins with this operation's forward

 protected:
  static Range part_of(const Range& samples, const Piece& piece) {
    const Range part = piece.of(samples.end - samples.begin);
    return {samples.begin + part.begin, samples.begin + part.end};
  }
  float* slot(const Pass& pass, std::int64_t index) const {
    return pass.slots + index * pass.slot_floats + slot_offset;
  }

  std::string name_;
  Tensor *in_, *out_;
};

}  // namespace sweetspot::engine::cpu
