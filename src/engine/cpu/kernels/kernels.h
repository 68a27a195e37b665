#pragma once
#include <cstdint>

#include "engine/cpu/kernels/layers.h"

namespace sweetspot::engine::cpu {

// The inner loops of the CPU engine, compiled once per instruction set and selected at program
// start. Each result is computed by one call in one order, so that it does not depend on the number
// of threads.

// Columns of a weight matrix that are stored contiguously: (columns / panel, rows, panel).
constexpr std::int64_t panel = 64;
// The pool index for "no gradient passes here".
constexpr std::uint8_t no_gradient = 255;

// A bf16: the upper half of a float.
enum class Bf16 : std::uint16_t {};

// Memory that is needed soon: products on tiles fetch it into the L2 cache, a few lines at a time.
struct Ahead {
  const void* from = nullptr;
  std::int64_t bytes = 0;
};

// C[r][n] = f(bias[n] + Σ_s Σ_j A[row r][segment s][j] · B[s · run + j][n]) for one panel of B. A
// convolution has one row per output position and one segment per kernel row; a dense layer has one
// segment. bf16 operands are multiplied two at a time, j and j + 1: B is then stored as (rows / 2,
// columns, 2), each segment begins with a pair, and the last row of an odd run is paired with zeros
// (A is read one beyond it).
template <class Operand>
struct Product {
  const Operand* a;
  const std::int32_t* row_offsets;  // of row r in A; null: r · row_stride
  std::int64_t row_stride;
  std::int64_t rows;
  const std::int32_t* segment_offsets;  // null: one segment
  std::int64_t segments, run;
  std::int64_t skipped;  // rows of B after each segment's that are zero; in fp32
  const Operand* b;
  std::int64_t width;  // columns of this panel, a multiple of unit, at most panel
  const float* bias;   // null: none
  bool adds;           // C has a part of the sums, and the bias
  bool relu;
  float* c;
  const std::int32_t* c_row_offsets;  // of row r in C; null: r · c_row_stride
  std::int64_t c_row_stride, c_unit_stride;
  bool row_tiles;  // only on tiles: `a` is as round_row_tiles makes it
  bool b_tiles;    // only on tiles: `b` is (width / 16, run / 32, 16, 16, 2), each tile contiguous
};
using Multiply = Product<float>;

// D[k][n] (+)= Σ_r A[row r][k] · G[r][n], k in [0, depth), n in one panel. In bf16 a row is a pair
// of rows: (rows, depth, 2) and (rows, columns, 2), with strides in single numbers.
template <class Operand>
struct OuterProduct {
  const Operand* a;
  const std::int32_t* row_offsets;
  std::int64_t row_stride;
  std::int64_t rows, depth;
  const Operand* g;
  std::int64_t g_row_stride, g_unit_stride;
  std::int64_t width;
  float* d;  // row stride: width
  bool accumulate;
  bool packed;          // contiguous rows of both
  const Operand* next;  // null, or as many rows of the next inputs, to fetch in advance
  std::int64_t next_stride;
  bool turned;      // only on tiles: `a` is as turn_rows makes it
  bool configured;  // by the call before, and nothing else has used the tiles since
  Ahead ahead[3];
};
using Outer = OuterProduct<float>;

// A second panel, as whole as the first one: elements from the first one's B or G, and from its C
// or D. Products of two panels at once skip zeros faster.
struct SecondPanel {
  std::int64_t operand, result;
};

// X[r][k] = Σ_n G[r][n] · B[k][n] over every panel of B: the input gradient of a dense layer for
// few rows, where transposing B would cost more than it saves. k in [first, first + depth).
struct Dot {
  const float* g;
  std::int64_t g_row_stride, rows;
  const float* b;
  std::int64_t b_rows, columns;
  std::int64_t first, depth;  // multiples of unit
  float* x;
  std::int64_t x_row_stride;
};

// C[r][n] = f(bias[n] + Σ_k A[r][k] · B[n][k]) for n in [0, outputs), at most narrow_outputs, and
// the padding after them. B is in panels of k: (depth / panel, unit, panel), its padding zero.
constexpr std::int64_t narrow_outputs = 12;
struct Narrow {
  const float* a;
  std::int64_t row_stride, rows, depth;
  const float* b;
  std::int64_t outputs;
  const float* bias;  // null: none
  bool relu;
  float* c;
  std::int64_t c_row_stride;
};

// Max over `slots` consecutive positions of one unit plane, with the index of the winner.
struct PoolWindows {
  const float* in;  // (windows, slots, unit)
  std::int64_t windows, slots;
  bool relu;
  float* out;            // (windows, unit)
  std::uint8_t* winner;  // (windows, unit)
};

// A product whose rows are windows of 2×2 positions, one after another, each pooled as above. It
// has row offsets, and neither adds nor C.
constexpr int pooled_slots = 4;
struct PooledProduct {
  Multiply product;
  std::int64_t windows;
  std::int64_t unit_stride;  // between the units of the outputs
  float* out;
  std::uint8_t* winner;
};

// The gradient of a pooled convolution is zero at all but one position of each window, so its
// backward passes visit only the winners: a quarter of the arithmetic for 2×2 windows.
struct Winners {
  std::int64_t count;
  const std::int32_t* offsets;  // of the kernel's first tap in the input plane, in floats
  const float* gradients;
};
struct SparseConv {
  std::int64_t kernel_height, kernel_width;
  std::int64_t line_stride;  // floats from one row of the input plane to the next
  Winners winners;           // of one output channel
};

// Rows of patches, `lines` runs of floats each, and their offsets in a frame.
struct PatchRows {
  const std::int32_t* offsets;  // of each row's first run in the frame
  std::int64_t rows, lines, run;
  std::int64_t line_stride, depth;  // between runs in the frame, between rows
};

// One pooled window of 2×2 outputs, 16 channels, from its transformed points.
struct WinogradOutput {
  const float* points;
  std::int64_t point_stride;
  const float* bias;  // null: none
  bool relu;
  float* out;
  std::uint8_t* winner;
};

// Winograd (minimal filtering) of a plain convolution: tile × tile outputs of a size × size kernel,
// or, along the width alone (`flat`), 1 × tile of 1 × size.
struct Filter {
  std::int64_t tile, size;
  bool flat = false;
  constexpr std::int64_t side() const { return tile + size - 1; }  // of the tile's input
  constexpr std::int64_t points() const { return flat ? side() : side() * side(); }
  constexpr std::int64_t tile_lines() const { return flat ? 1 : tile; }
  constexpr std::int64_t size_lines() const { return flat ? 1 : size; }
  constexpr std::int64_t side_lines() const { return flat ? 1 : side(); }
  constexpr std::int64_t taps() const { return size_lines() * size; }
};
// Those that there are, of 4, 6 and 8 points along an axis. Relative to a typical output of 64
// channels the rounding errors are 2.4e-7, 1.7e-6 and 3.1e-6 along both axes, 1.8e-7, 4.8e-7 and
// 6.3e-7 along one.
constexpr Filter minimal_filters[] = {
    {2, 3},       {3, 2},       {4, 3},       {2, 5},       {3, 4},       {5, 2},
    {6, 3},       {4, 5},       {5, 4},       {2, 3, true}, {3, 2, true}, {4, 3, true},
    {2, 5, true}, {3, 4, true}, {5, 2, true}, {6, 3, true}, {4, 5, true}, {5, 4, true}};
// Where the taps of a kernel are among the rows of a matrix; −1: the tap is zero.
struct TapRows {
  const std::int32_t* rows;
  std::int64_t stride;
};
// A tile of values, 16 channels.
struct TilePlace {
  const float* first;
  std::int64_t line_stride, column_stride;
};
// A tile of outputs, 16 channels, from its transformed points.
struct FilterOutput {
  const float* points;
  std::int64_t point_stride;
  const float* bias;  // null: none
  bool relu;
  float* out;
  std::int64_t line_stride, column_stride;
  std::int64_t lines, columns;  // of the tile that are inside the image
};

// Lanes [0, lanes) of rows of a unit, zeros after them, stored or added.
struct TakenLanes {
  const float* from;
  std::int64_t from_stride, rows, lanes;
  bool adds;
  float* to;
  std::int64_t to_stride;
};

// Standalone activations.
enum class Function { relu, sigmoid, tanh };

// (x − mean) · scale + shift of adjacent units of features whose values are `stride` floats apart,
// optionally followed by ReLU.
struct Normalise {
  const float *mean, *scale, *shift;  // of each feature
  std::int64_t units, positions, stride;
  bool relu;
};
// scale · (gradient − average − (x − mean) · slope): the backward pass through the statistics.
struct NormaliseBack {
  const float *mean, *scale, *average, *slope;
  std::int64_t units, positions, stride;
};

// Windows over one unit's plane, with any overlap.
struct PoolPlane {
  std::int64_t in_height, in_width, out_height, out_width;
  std::int64_t window_height, window_width, stride_height, stride_width, pad_top, pad_left;
};

// Weights and state come from beyond the L2 cache: meanwhile those that are `ahead` of these, which
// are next, are loaded into it, line by line, so that neither waits for the other. 0: none.
struct Following {
  std::int64_t ahead = 0;
  int arrays = 3;  // of the weights, their means and squares; something else loads the others
};
struct AdamStep {
  float learning_rate;  // bias-corrected
  float beta1, beta2, epsilon;
  float decay;  // learning rate × weight decay
};
struct MomentumStep {
  float learning_rate, momentum;
  bool nesterov;
};

struct Kernels {
  const char* name;
  void (*multiply)(const Multiply&);
  void (*multiply_two)(const Multiply&, const SecondPanel&);
  void (*outer)(const Outer&);
  void (*outer_two)(const Outer&, const SecondPanel&);
  void (*dot)(const Dot&);
  void (*narrow)(const Narrow&);
  void (*pool_windows)(const PoolWindows&);
  void (*multiply_pooled)(const PooledProduct&);
  // Zeroes gradients (windows, unit) that no winner takes and adds the rest to bias[unit].
  void (*mask_gradients)(float* gradients, const std::uint8_t* winner, std::int64_t windows,
                         float* bias);
  // weights (taps, unit) += Σ winners g · input; input_gradient plane += Σ winners g · weights.
  void (*sparse_weights)(const SparseConv&, const float* input, float* weights);
  void (*sparse_data)(const SparseConv&, const float* weights, float* input_gradient);
  // weights (unit, depth) += Σ windows gradient[lane] · patch of the lane's winner; for a first
  // layer, whose patches (windows, slots, depth) were gathered before.
  void (*patch_weights)(const float* patches, std::int64_t windows, std::int64_t slots,
                        std::int64_t depth, const float* gradients, const std::uint8_t* winner,
                        float* weights);
  // to (columns, rows) = from (rows, columns)ᵀ; both counts are multiples of unit.
  void (*transpose)(const float* from, std::int64_t from_stride, std::int64_t rows,
                    std::int64_t columns, float* to, std::int64_t to_stride);
  // Winograd transforms for kernels of r × r, r in 3..5; see winograd.inl. Each works on one unit.
  void (*winograd_weights)(std::int64_t r, const float* taps, std::int64_t tap_stride,
                           float* points, std::int64_t point_stride);
  void (*winograd_input)(std::int64_t r, const float* plane, std::int64_t line_stride,
                         float* points, std::int64_t point_stride);
  void (*winograd_output)(std::int64_t r, const WinogradOutput&);
  // The same for plain convolutions: a kernel's taps, a tile's input, a tile of outputs, the
  // gradient of such a tile, and the points of a weight gradient, which is added to the taps.
  void (*filter_weights)(Filter, const float* matrix, const TapRows&, float* points,
                         std::int64_t point_stride);
  void (*filter_input)(Filter, const TilePlace& from, float* points, std::int64_t point_stride);
  void (*filter_output)(Filter, const FilterOutput&);
  void (*filter_gradient)(Filter, const float* plane, std::int64_t line_stride, float* points,
                          std::int64_t point_stride);
  void (*filter_weight_gradient)(Filter, const float* points, std::int64_t point_stride,
                                 const TapRows&, float* matrix);
  // Bit e % 16 of keep[e / 16] for e in [0, count): whether a random word is at least `threshold`.
  void (*keep_mask)(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
                    std::uint64_t first_counter, std::uint32_t threshold, std::int64_t count,
                    std::uint16_t* keep);
  void (*add)(const float* from, std::int64_t count, float* to);
  // Copies whole units with non-temporal stores, for another thread to read. A normal store into a
  // line that another core has read waits for that core to invalidate it.
  void (*stream)(const float* from, std::int64_t count, float* to);
  // Copies rows of whole units, which are far apart in `from`, asking for some rows in advance.
  void (*copy_rows)(const float* from, std::int64_t from_stride, std::int64_t rows,
                    std::int64_t count, float* to, std::int64_t to_stride);
  void (*take_lanes)(const TakenLanes&);
  // Adds each run to its position in the frame.
  void (*add_patches)(const PatchRows&, const float* patches, float* frame);
  // Both take whole units: to = keep ? from · scale : 0, and gradient = value > 0 ? gradient : 0.
  void (*scale_kept)(const float* from, const std::uint16_t* keep, float scale, std::int64_t count,
                     float* to);
  // gradient (positions, unit) = value > 0 ? gradient : 0 if there is a value, and its sum to
  // bias[unit].
  void (*bias_gradient)(const float* value, std::int64_t positions, float* gradient, float* bias);
  void (*pass_positive)(const float* value, std::int64_t count, float* gradient);
  void (*activate)(Function, const float* x, std::int64_t count, float* y);
  // to = gradient · the slope at the output y.
  void (*activate_back)(Function, const float* y, const float* gradient, std::int64_t count,
                        float* to);
  // Logits into probabilities; returns Σ exp(logit − largest).
  double (*softmax)(float* values, std::int64_t count, float largest);
  // The mean of each feature's values and Σ (x − mean)².
  void (*moments)(const float* x, std::int64_t units, std::int64_t positions, std::int64_t stride,
                  float* mean, float* squares);
  void (*normalise)(const Normalise&, const float* x, float* y);
  // passed = the gradient after the ReLU; of each feature: sum = Σ passed, product = Σ passed · (x
  // − mean).
  void (*normalise_sums)(const Normalise&, const float* x, const float* gradient, float* passed,
                         float* sum, float* product);
  void (*normalise_back)(const NormaliseBack&, const float* x, const float* gradient, float* to);
  // The winner's position in the input plane goes to `winners`. The backward functions add to `to`.
  void (*max_pool)(const PoolPlane&, const float* in, float* out, std::int32_t* winners);
  void (*max_pool_back)(const PoolPlane&, const float* gradient, const std::int32_t* winners,
                        float* to);
  void (*average_pool)(const PoolPlane&, const float* in, float* out);
  void (*average_pool_back)(const PoolPlane&, const float* gradient, float* to);
  void (*sgd)(float learning_rate, std::int64_t count, const float* gradient, float* weight);
  void (*momentum)(const MomentumStep&, std::int64_t count, const float* gradient, float* weight,
                   float* velocity);
  void (*adam)(const AdamStep&, std::int64_t count, const float* gradient, float* weight,
               float* mean, float* square, const Following&);
  LayerKernels layers;
};

// Each exists only for CPUs that have it.
extern const Kernels kernels_avx512, kernels_avx2, kernels_neon, kernels_generic;

// The best that this CPU runs; SWEETSPOT_ISA=avx512|avx512bf16|avx2|neon|generic selects another.
// avx512bf16 is avx512 with bf16 products but without AMX tiles.
const Kernels& kernels();

}  // namespace sweetspot::engine::cpu
