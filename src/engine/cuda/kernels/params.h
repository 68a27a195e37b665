#pragma once
#include <cuda_runtime.h>

#include <cstdint>

// What the host passes to the kernels: plain values, read by nvcc as C++17 and by the rest as
// C++20.
namespace sweetspot::engine::cuda {

// Arithmetic of the matrix products. Tensors and sums are always fp32 in memory; operands are
// rounded on their way into shared memory.
enum class Math { fp32, tf32, bf16, fp16 };
// Size of one weight cached as an operand; fp32 does not need that.
constexpr int operand_bytes(Math math) {
  return math == Math::fp32 ? 0 : math == Math::tf32 ? 4 : 2;
}

// 16-bit terms that make up an operand packed in memory.
constexpr int packed_terms(Math math) {
  return math == Math::fp32 ? 3 : math == Math::tf32 ? 2 : 1;
}

// n / d for 0 <= n < 2^31 by one multiplication (Granlund and Montgomery, 1994).
struct Divider {
  std::uint32_t divisor = 1, multiplier = 0, shift = 0;

  Divider() = default;
  explicit Divider(std::uint32_t d) : divisor(d) {
    if (d < 2) return;
    std::uint32_t bits = 0;
    while ((std::uint64_t{1} << bits) < d) ++bits;
    multiplier = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + bits)) + d - 1) / d);
    shift = bits - 1;
  }
#ifdef __CUDACC__
  __device__ int quotient(int n) const {
    return multiplier
               ? static_cast<int>(__umulhi(static_cast<std::uint32_t>(n), multiplier) >> shift)
               : n;
  }
#endif
};

// The state passed from step to step, all on the device: no step waits for the host.
struct StepState {
  std::uint32_t step;     // updates done
  std::uint32_t cursor;   // samples of the order already used
  std::uint32_t slot;     // of the history
  float learning_rate;    // as the host set it
  float adam_rate;        // with this step's bias correction
  float loss_scale;       // fp16 only, else 1
  float unscale;          // 1 / the scale in this step's gradients
  std::uint32_t healthy;  // steps since the scale last changed
  std::uint32_t skipped;  // updates skipped because a gradient was not finite
  std::uint32_t bad;      // this step's gradients are not finite; reset by its first loss
};

// The results of one step.
struct StepRecord {
  double loss;  // sum over its samples
  std::uint32_t correct, samples;
  double gradient_squared;  // norm; 0: not measured
};

// Where a micro-batch comes from: floats in batch order, or samples of a device-resident data set,
// bytes or floats, in the epoch's order.
struct Source {
  const float* floats = nullptr;
  const std::uint8_t* bytes = nullptr;
  const std::uint32_t* order = nullptr;  // null: sample i is row first + i
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;
  const StepState* state = nullptr;
  std::uint32_t first = 0;  // offset of the micro-batch from the cursor
  bool settled = false;     // no running kernel writes the cursor or the samples
#ifdef __CUDACC__
  __device__ std::uint32_t row(std::uint32_t sample) const {
    return order ? order[state->cursor + first + sample] : first + sample;
  }
#endif
};

// A value as 16-bit terms (pack.cu) instead of floats: bf16, or fp16 if there is one, in planes
// `stride` elements apart. No terms: floats.
struct ValueTerms {
  int terms = 0;
  bool fp16 = false;
  std::int64_t stride = 0;
};

enum class Function : int { linear, relu, sigmoid, tanh };

struct DropoutMask {
  std::uint32_t threshold = 0;  // a word below it drops its element; 0: no dropout
  float scale = 1;
  std::uint64_t seed = 0;                      // of the layer's stream
  std::uint32_t counters = 0;                  // of one sample
  std::uint32_t full_width = 1, channels = 1;  // numbering includes dead positions, not padding
  std::uint32_t first = 0;                     // the micro-batch's first sample in the batch
  std::uint32_t ahead = 1;                     // the step is state->step + ahead
  const StepState* state = nullptr;
};

// A convolution, or a dense layer as one of 1×1 positions. Extents are the live ones.
struct ConvShape {
  int in_h = 1, in_w = 1, channels = 1;
  int out_h = 1, out_w = 1, filters = 1;  // before pooling
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0;
  int pool = 1;  // 2: followed by 2×2 max pooling

  int taps() const { return kernel_h * kernel_w; }
  int depth() const { return taps() * channels; }
  int positions() const { return out_h * out_w; }
  int windows() const { return positions() / (pool * pool); }
  int in_floats() const { return in_h * in_w * channels; }
  int out_floats() const { return windows() * filters; }  // after the pooling
};

// The code of an output element: the position in its pooling window that the gradient goes to, or
// none, because ReLU or dropout made the element zero.
constexpr std::uint8_t no_gradient = 255;

enum class GemmKind : int { forward, data, weights };
// Blocks of 32×32 outputs, the depth divided among eight warps: for small batches, where latency
// dominates. `middle`, 64×64, the depth divided in two: if larger ones would leave multiprocessors
// with one block, which waits for its loads. Blocks of 256×32 and 128×64: for large batches.
// `large`, 128×128: if enough of them fill the chip, each warp with 64×32 outputs. `on_chip`:
// samples and weights entirely in shared memory (on_chip.cuh). `packed`: 128 rows of operands that
// are packed in memory (packed_product.cuh); `tma`: the same, copied by the tensor memory
// accelerator (tma_product.cuh).
enum class TileKind : int { small, middle, tall, wide, large, on_chip, packed, tma };

// One matrix product with its loaders and its epilogue. `forward`: value and code from input and
// weights. `data`: the gradient of the input. `weights`: partial gradients of kernel and bias.
struct GemmPart {
  GemmKind kind;
  TileKind tile;
  int tiles_m, tiles_n, splits, split_depth;
  Divider by_tiles_m, by_tiles_n;
  bool fine;   // on-chip weights: the splits divide depth steps, not whole samples
  bool dense;  // one position in and out; never with the tall tile
  ConvShape shape;
  Divider by_windows, by_window_w, by_out, by_out_w, by_channels, by_filters, by_kernel_w;
  // The input gradient: its phases (loaders.cuh), the positions of one, and its taps.
  int phases;
  Divider by_in, by_in_w, by_taps_x, by_fewer_taps_x;
  int count;  // samples
  bool relu;
  Function function;        // of the output, if there is neither ReLU nor dropout
  int outputs;              // the filters that have it; the others are padding, which stays zero
  Function input_function;  // of the input: its gradient passes through it
  float scale;              // of the input's gradient: its dropout's
  const float* input;       // (count, in_h, in_w, channels)
  const float* weights;     // (taps, channels, filters)
  const void* operands;     // the same, rounded to the operand type; null: no such copy
  const float* bias;        // (filters), or null
  float* value;             // (count, windows, filters)
  ValueTerms value_terms;
  std::uint8_t* code;     // as value; null: not needed, or all gradients pass
  const float* gradient;  // as value; the sum of this many slices
  int gradient_slices;
  std::int64_t gradient_stride;
  float* input_gradient;  // as input
  // Forward and data: with several splits of the depth, each writes its raw sums into its own
  // slice, and their reader adds and finishes them.
  float* slices;
  std::int64_t slice_stride;
  // Or, with small and large tiles: the last split of a tile to arrive adds and finishes it.
  std::uint32_t* tickets;  // one per tile, zero between launches; null: none
  // Or, with small and packed tiles: a cluster of blocks has the splits of a tile and finishes it.
  bool clustered;
  float* partials;  // splits × partial_stride: kernel, then bias
  std::int64_t partial_stride;
  StepState* state;  // of the weight gradient: set if it is not finite
  DropoutMask dropout;
  // TileKind::packed and tma: operands in memory as planes of 16 bits (pack.cu), this many elements
  // apart; `operands` is the kernel. shape.channels are padded to multiples of eight there;
  // by_channels has those of the tensors.
  Divider by_packed_channels;
  int stage_depth;  // of one tap, with tma, where split_depth counts stages
  const std::uint16_t *packed_input, *packed_gradient;  // the gradient is that before pooling
  std::int64_t input_term, gradient_term, operand_term;
};

constexpr int most_cluster_blocks = 8;  // every GPU with clusters has as many

// Whether it has its own launch and kernel.
inline bool runs_alone(const GemmPart& part) {
  return part.tile == TileKind::large || part.tickets || part.clustered;
}

// The concurrent products of one backward launch: an input gradient, and up to two weight
// gradients. Each has its fixed field, since a dynamically indexed argument is slow to read.
struct GemmParts {
  GemmPart data, weights[2];
  int data_blocks = 0, weight_blocks[2] = {0, 0};
};

// A convolution over few channels with its ReLU and 2×2 max pooling, directly from the samples.
struct FirstConv {
  ConvShape shape;     // stride 1, unpadded
  int full_h, full_w;  // of a sample as it is stored
  // A sample is processed in strips of this many pooled lines.
  int strip_lines, strips;
  Divider by_strips, by_width, by_filter_blocks;
  Source source;
  int count;
  bool relu;
  const float *weights, *bias;
  float* value;
  std::uint8_t* code;
  const float* gradient;
  float* partials;  // of the backward pass
  std::int64_t partial_stride;
  int splits, window_parts;  // blocks in all, and those that share a sample
  int filter_blocks;         // blocks that share a sample forward: several for small batches
  bool tensor;               // forward in tf32 on the tensor cores instead of fp32
};

// A convolution that computes its input from the samples: the first convolution's output is written
// only for the backward pass.
struct MergedForward {
  GemmPart part;
  FirstConv first;
};

// A convolution's backward pass that continues, sample by sample, with that of the first
// convolution before it: the gradient between the two stays in shared memory.
struct MergedBackward {
  GemmPart data, weights;
  int data_blocks, weight_blocks;
  FirstConv first;
};

// The last dense layer with its loss: forward, loss, and the gradient of its input in one pass.
enum class LossKind : int { cross_entropy, squared_error };
struct Head {
  int depth, outputs, count;
  const float *weights, *bias, *input;
  // The previous layer, if it left its sums in slices: the head finishes it.
  const float* slices;
  int slice_count;
  std::int64_t slice_stride;
  const float* input_bias;
  bool input_relu;
  DropoutMask dropout;
  float* value;             // its output
  float* logit_gradient;    // (count, outputs); null in evaluation
  float* input_gradient;    // (count, depth), or null
  float input_scale;        // of the input's dropout
  Function input_function;  // of the input, as in GemmPart
  LossKind loss;
  bool softmax;
  float batch;  // samples of the whole batch
  bool begins;  // its first micro-batch
  Source source;
  StepState* state;
  double beta1, beta2;    // for the bias correction of this step
  float* losses;          // (count)
  std::uint8_t* correct;  // (count)
};

struct OptimizerRule {
  enum class Kind : int { sgd, momentum, nesterov, adam } kind;
  float momentum, beta1, beta2, epsilon, decay;  // decay: times the learning rate
};

// Adjacent weights, and their partial gradients.
struct Segment {
  std::int64_t begin;
  int count, splits;
  const float* partials;
  std::int64_t stride;
  bool early;  // complete before the update's predecessor began, which does not read the weights
  int first_block;
  std::int64_t operands;  // the offset where the first of them are cached as operands, …
  int operand_count;      // … and their number
};

constexpr int most_segments = 64;
struct Update {
  Segment segments[most_segments];  // in constant memory, where searching is fast
  int segment_count, blocks;
  bool ends_step;  // the last launch of the step's update
  float *weights, *gradients, *mean, *square;
  void* operands;  // rounded for `math`
  Math math;
  OptimizerRule rule;
  StepState* state;
  bool from_gradients;  // the sums are in `gradients` already
  bool scaled;          // fp16: gradients carry the loss scale, and the step may be skipped
  // The end of the step: its record, and the state for the next one.
  const float* losses;
  const std::uint8_t* correct;
  int samples;            // 0: the record is kept elsewhere
  std::uint32_t advance;  // samples of the order used
  StepRecord* history;
};

}  // namespace sweetspot::engine::cuda
