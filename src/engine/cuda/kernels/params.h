#pragma once
#include <cuda_runtime.h>

#include <cstdint>

// What the host hands to the kernels: plain values, read by nvcc as C++17 and by the rest as C++20.
namespace sweetspot::engine::cuda {

// Arithmetic of the matrix products. Tensors and sums are fp32 in memory whatever it is; operands
// are rounded on their way into shared memory.
enum class Math { fp32, tf32, bf16, fp16 };
// Of one weight kept as an operand; fp32 has no use for that.
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

// What a step leaves behind for the next one, all on the device: no step waits for the host.
struct StepState {
  std::uint32_t step;     // updates done
  std::uint32_t cursor;   // samples of the order already used
  std::uint32_t slot;     // of the history
  float learning_rate;    // as the host set it
  float adam_rate;        // with this step's bias correction
  float loss_scale;       // fp16 only, else 1
  float unscale;          // 1 / what this step's gradients carry of it
  std::uint32_t healthy;  // steps since the scale last changed
  std::uint32_t skipped;  // updates left out because a gradient was not finite
  std::uint32_t bad;      // this step's gradients are not finite; since its first loss
};

// What one step tells.
struct StepRecord {
  double loss;  // sum over its samples
  std::uint32_t correct, samples;
  double gradient_squared;  // norm; 0: not measured
};

// Where a micro-batch comes from: floats in the order of the batch, or samples of a resident data
// set, bytes or floats, by way of the epoch's order.
struct Source {
  const float* floats = nullptr;
  const std::uint8_t* bytes = nullptr;
  const std::uint32_t* order = nullptr;  // null: sample i is row first + i
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;
  const StepState* state = nullptr;
  std::uint32_t first = 0;  // of the micro-batch behind the cursor
  bool settled = false;     // no kernel that may still run writes the cursor or the samples
#ifdef __CUDACC__
  __device__ std::uint32_t row(std::uint32_t sample) const {
    return order ? order[state->cursor + first + sample] : first + sample;
  }
#endif
};

// A value as 16-bit terms (pack.cu) instead of floats: bf16, or fp16 if there is one, each plane of
// them `stride` elements behind the one before. No terms: floats.
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
  std::uint32_t full_width = 1, channels = 1;  // dead positions are numbered too, padding is not
  std::uint32_t first = 0;                     // the micro-batch's first sample in the batch
  std::uint32_t ahead = 1;                     // the step is state->step + ahead
  const StepState* state = nullptr;
};

// A convolution, or a dense layer as one of 1×1 positions. Extents are the live ones.
struct ConvShape {
  int in_h = 1, in_w = 1, channels = 1;
  int out_h = 1, out_w = 1, filters = 1;  // before pooling
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0;
  int pool = 1;  // 2: max pooling of 2×2 behind it

  int taps() const { return kernel_h * kernel_w; }
  int depth() const { return taps() * channels; }
  int positions() const { return out_h * out_w; }
  int windows() const { return positions() / (pool * pool); }
  int in_floats() const { return in_h * in_w * channels; }
  int out_floats() const { return windows() * filters; }  // behind the pooling
};

// The code of an output element: which position of its pooling window the gradient goes to, or that
// it goes nowhere, because ReLU, or dropout, made the element zero.
constexpr std::uint8_t no_gradient = 255;

enum class GemmKind : int { forward, data, weights };
// Blocks of 32×32 outputs, the depth divided among eight warps: for small batches, where latency is
// everything. Blocks of 256×32 and 128×64: for large ones. `large`, 128×128: for
// what fills the chip with such, each warp with 64×32 outputs.
// `resident`: samples and weights wholly in shared memory (resident.cuh). `packed`: 128 rows of
// operands that are packed in memory (packed_product.cuh).
enum class TileKind : int { small, tall, wide, large, resident, packed };

// One matrix product with its loaders and its epilogue. `forward`: value and code from input and
// weights. `data`: the gradient of the input. `weights`: partial gradients of kernel and bias.
struct GemmPart {
  GemmKind kind;
  TileKind tile;
  int tiles_m, tiles_n, splits, split_depth;
  Divider by_tiles_m, by_tiles_n;
  bool fine;   // resident weights: the splits share the samples' steps of depth, not whole samples
  bool dense;  // one position in and out; never with the tall tile
  ConvShape shape;
  Divider by_windows, by_window_w, by_out, by_out_w, by_channels, by_filters, by_kernel_w;
  // The gradient of the input: its phases (loaders.cuh), the positions of one, and its taps.
  int phases;
  Divider by_in, by_in_w, by_taps_x, by_fewer_taps_x;
  int count;  // samples
  bool relu;
  Function function;        // of the output, where there is neither ReLU nor dropout
  Function input_function;  // of the input: its gradient goes on through it
  float scale;              // of the input's gradient: its dropout's
  const float* input;       // (count, in_h, in_w, channels)
  const float* weights;     // (taps, channels, filters)
  const void* operands;     // the same, rounded, in the operands' type; null: there is no such copy
  const float* bias;        // (filters), or null
  float* value;             // (count, windows, filters)
  ValueTerms value_terms;
  std::uint8_t* code;     // as value; null: none is wanted, or all gradients pass
  const float* gradient;  // as value; the sum of so many slices
  int gradient_slices;
  std::int64_t gradient_stride;
  float* input_gradient;  // as input
  // Forward and data: with several splits of the depth, each writes its sums as they are, into a
  // slice of its own, and whoever reads them adds them up and finishes them.
  float* slices;
  std::int64_t slice_stride;
  // Or, with small and large tiles: the last split of a tile to come adds them up and finishes it.
  std::uint32_t* tickets;  // one for each tile, zero between launches; null: none
  float* partials;         // splits × partial_stride: kernel, then bias
  std::int64_t partial_stride;
  StepState* state;  // of the weights' gradient: where to say that it is not finite
  DropoutMask dropout;
  // Tiles of TileKind::packed: operands in memory as planes of 16 bits (pack.cu), so many elements
  // apart; `operands` is the kernel. shape.channels are padded to eights there, by_channels has
  // those of the tensors.
  Divider by_packed_channels;
  const std::uint16_t *packed_input, *packed_gradient;  // the gradient is that before pooling
  std::int64_t input_term, gradient_term, operand_term;
};

// Whether it has a launch, and a kernel, for itself.
inline bool runs_alone(const GemmPart& part) {
  return part.tile == TileKind::large || part.tickets;
}

// The products of one backward launch side by side: a gradient of an input, and up to two of
// weights. Each has its fixed place, since an argument found by a computed index is slow to read.
struct GemmParts {
  GemmPart data, weights[2];
  int data_blocks = 0, weight_blocks[2] = {0, 0};
};

// A convolution over few channels with its ReLU and 2×2 max pooling, straight from the samples.
struct FirstConv {
  ConvShape shape;     // stride 1, unpadded
  int full_h, full_w;  // of a sample as it is stored
  // A sample is worked through in strips of so many pooled lines.
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
// for the backward pass, and read by nobody before.
struct MergedForward {
  GemmPart part;
  FirstConv first;
};

// A convolution's backward pass that goes on, sample by sample, to that of the first convolution
// before it: the gradient between the two never leaves shared memory.
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
  // The layer before, if it left its sums in slices: the head finishes it.
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
  bool begins;  // the first micro-batch of it
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

// Weights that lie together, and where their partial gradients are.
struct Segment {
  std::int64_t begin;
  int count, splits;
  const float* partials;
  std::int64_t stride;
  bool early;  // complete before the update's predecessor began, which does not read the weights
  int first_block;
  std::int64_t operands;  // where the first of them are kept as operands too, …
  int operand_count;      // … so many of them
};

constexpr int most_segments = 64;
struct Update {
  Segment segments[most_segments];  // in constant memory, where a search takes no time
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
  int samples;            // 0: somebody else keeps the record
  std::uint32_t advance;  // samples of the order used
  StepRecord* history;
};

}  // namespace sweetspot::engine::cuda
