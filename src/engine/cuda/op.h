#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "engine/cuda/device.h"
#include "engine/cuda/kernels/early_start.h"
#include "engine/cuda/kernels/in_place.h"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/packing.h"
#include "engine/cuda/streams.h"

namespace sweetspot::engine::cuda {

// What flows between two operations: (samples, height, width, channels padded).
struct Tensor {
  int height = 1, width = 1, channels = 1, pitch = 4;
  // Byte offsets in the arena; the gradient is that of the value after dropout.
  core::Bytes value = 0, gradient = 0;
  ValueTerms value_terms, gradient_terms;  // their representation there
  // The number of slices in which the producer of the gradient writes its column sums; 0: none, or
  // not decided yet.
  std::int64_t gradient_sums = 0;
  int gradient_sum_slices = 0;
  // The gradient as this many slices of its sum, each of a whole micro-batch, in a separate buffer.
  int gradient_slices = 1;
  std::int64_t gradient_stride = 0;
  bool sliceable = false;    // the reader of the gradient can add them
  float gradient_scale = 1;  // the factor the gradient's producer applies: dropout's 1/(1-p)
  Function gradient_function = Function::linear;  // and the function it undoes
  std::optional<core::Bytes> gradient_code;       // and the codes (ReLU, dropout) it applies

  int positions() const { return height * width; }
  int floats() const { return positions() * pitch; }
};

// One pass of a micro-batch through a program.
struct Pass {
  std::byte* arena = nullptr;
  float* weights = nullptr;
  const std::byte* operands = nullptr;  // weights cached as operands; none in fp32
  float* partials = nullptr;
  float* scratch = nullptr;                                           // for one kernel at a time
  float* branch_scratch = nullptr;                                    // the same, on a branch
  std::uint16_t *packed_input = nullptr, *packed_gradient = nullptr;  // for one operation at a time
  std::uint32_t* tickets = nullptr;
  StepState* state = nullptr;
  Source source;
  int count = 0;       // samples of the micro-batch
  int first = 0;       // its first sample's index in the batch
  bool begins = true;  // the step, for this trainer
  float batch = 0;     // samples of the whole batch
  bool training = true;
  std::uint32_t ahead = 1;  // the step's number is state->step + ahead
  std::uint64_t seed = 0;
  double beta1 = 0, beta2 = 0;
  Math math = Math::fp32;
  cudaStream_t stream = nullptr;
  InPlaceUpdate in_place;                    // if this backward pass covers the whole batch
  std::function<void(Update&)> fill_update;  // the trainer's part of an update, if so
  Branches* branches = nullptr;              // null: everything runs on the stream
  bool last = false;                         // the backward pass's last operation
  GemmParts pending{};                       // gradients that may share the next launch
  bool pending_on_chip = false;

  template <class T = float>
  T* at(core::Bytes offset) const {
    return reinterpret_cast<T*>(arena + offset);
  }
  void run(GemmPart part);                      // a forward product, immediately
  void run_packed(GemmPart part, int columns);  // of any kind, immediately
  void add(GemmPart part);                      // a backward product, merged with others
  void run(MergedForward parts);
  void run(MergedBackward parts);
  void flush();

 private:
  void set(const GemmPart& part);
};

// While it exists, a pass launches on its branch, if it has one, after all that it launched before:
// for what nothing else in the backward pass waits for.
class Aside {
 public:
  // `always`: even for the last operation, beside which nothing runs, since it shares memory with
  // those on the branch.
  explicit Aside(Pass& pass, bool always = false);
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  Pass& pass_;
  cudaStream_t stream_;
  float* scratch_;
  std::unique_ptr<WholePredecessors> late_;
};

// Assigns every operation its bytes, before anything is allocated.
class Planner {
 public:
  Planner(std::int64_t micro_batch, bool training, Math math, const Chip& chip)
      : micro_batch_(micro_batch), training_(training), math_(math), chip_(chip) {}
  // Whether weight gradients run on a branch: what they read is not overwritten in the pass.
  bool branches = false;
  std::int64_t micro_batch() const { return micro_batch_; }
  bool training() const { return training_; }
  Math math() const { return math_; }
  const Chip& chip() const { return chip_; }
  core::Bytes claim(core::Bytes bytes) { return std::exchange(arena_, arena_ + round(bytes)); }
  core::Bytes claim_samples(core::Bytes bytes_each) {
    return claim(static_cast<core::Bytes>(micro_batch_) * bytes_each);
  }
  std::int64_t claim_partials(std::int64_t floats) {
    return std::exchange(partials_, partials_ + floats);
  }
  // For buffers that only one kernel at a time needs, the largest is enough.
  void claim_scratch(core::Bytes bytes, int tickets) {
    scratch_ = std::max(scratch_, bytes), tickets_ = std::max(tickets_, tickets);
  }
  // Packed operands of one operation at a time.
  void claim_packed_input(core::Bytes bytes_each) { claim_packed(packed_input_, bytes_each); }
  // Returns its place, if it has its own.
  std::optional<core::Bytes> claim_packed_gradient(core::Bytes bytes_each) {
    if (branches) return claim_samples(bytes_each);
    claim_packed(packed_gradient_, bytes_each);
    return std::nullopt;
  }
  // For what runs on a branch, one kernel at a time.
  void claim_branch_scratch(core::Bytes bytes) {
    if (branches) branch_scratch_ = std::max(branch_scratch_, bytes);
  }
  core::Bytes packed_input_bytes() const { return packed_input_; }
  core::Bytes packed_gradient_bytes() const { return packed_gradient_; }
  core::Bytes scratch_bytes() const { return scratch_; }
  core::Bytes branch_scratch_bytes() const { return branch_scratch_; }
  core::Bytes ticket_bytes() const {
    return static_cast<core::Bytes>(tickets_) * sizeof(std::uint32_t);
  }
  core::Bytes arena_bytes() const { return arena_; }
  std::int64_t partial_floats() const { return partials_; }
  static core::Bytes round(core::Bytes bytes) { return (bytes + 255) / 256 * 256; }

 private:
  void claim_packed(core::Bytes& most, core::Bytes bytes_each) const {
    most = std::max(most, static_cast<core::Bytes>(micro_batch_) * bytes_each);
  }

  std::int64_t micro_batch_;
  bool training_;
  Math math_;
  Chip chip_;
  core::Bytes arena_ = 0, scratch_ = 0, branch_scratch_ = 0;
  core::Bytes packed_input_ = 0, packed_gradient_ = 0;
  int tickets_ = 0;
  std::int64_t partials_ = 0;
};

// Partial gradients of adjacent weights: `splits` copies, `floats` apart.
struct PartialGradients {
  std::int64_t weights = 0;  // offset of the first weight
  std::int64_t floats = 0, offset = 0;
  int splits = 1;
  bool early = false;     // not of the last launch of the backward pass
  bool in_place = false;  // the operation updates these weights itself, if a pass allows it
  std::int64_t operands = 0, operand_count = 0;  // the first of them are also cached as operands
  std::size_t op = 0;                            // whose backward pass makes them
};

class Op {
 public:
  Op(std::string name, Tensor* in, Tensor* out) : name_(std::move(name)), in_(in), out_(out) {}
  virtual ~Op() = default;

  const std::string& name() const { return name_; }
  virtual std::string method() const = 0;
  virtual void claim(Planner&) {}
  virtual void forward(Pass&) const = 0;
  virtual void backward(Pass&) const {}
  virtual std::vector<PartialGradients> partials() const { return {}; }
  // Whether it can write its output, or read its input, as 16-bit terms: no packing is needed, and
  // one term has half of the bytes.
  virtual bool writes_terms() const { return false; }
  virtual bool reads_terms(const Planner&) const { return false; }
  // Whether it writes them as fast as floats, and whether the reader would pack floats first: fewer
  // bytes alone are not worth a slower writer.
  virtual bool writes_terms_freely() const { return writes_terms(); }
  virtual bool packs_floats() const { return true; }
  // The same for the gradients of its input and of its output. The writer also sums the columns, if
  // it can; the reader may need these sums, for its bias.
  virtual bool writes_gradient_terms(const Planner&) const { return false; }
  virtual bool reads_gradient_terms(const Planner&) const { return false; }
  virtual bool writes_gradient_sums() const { return true; }
  virtual bool reads_gradient_sums() const { return true; }
  // Whether that gradient passes through codes first, and whether the writer applies them.
  virtual bool routes_gradient() const { return false; }
  virtual bool applies_codes() const { return false; }
  // The number of slices of that gradient's column sums, if it writes them in only so many; 0: any.
  virtual int gradient_sum_slices(const Planner&) const { return 0; }
  // Whether its products round operands, so that gradients may overflow in fp16, and whether this
  // may show only on a branch.
  virtual bool rounds() const { return false; }
  virtual bool shows_overflow_late() const { return false; }
  // It must leave the update of its weights to the end of the step.
  virtual void leave_update() {}
  // Whether it undoes the function that made its input when it writes the input's gradient.
  virtual bool passes_through_function() const { return false; }

  Tensor* in() const { return in_; }
  Tensor* out() const { return out_; }
  bool wants_input_gradient = true;  // false for the first with weights
  bool in_last_launch = false;       // of the backward pass

 protected:
  std::string name_;
  Tensor *in_, *out_;
};

}  // namespace sweetspot::engine::cuda
