#pragma once
#include <cuda.h>

#include "engine/cuda/kernels/packing.h"

// Products of packed operands whose tiles the tensor memory accelerator copies (tma_product.cuh).
namespace sweetspot::engine::cuda {

// What a stage has of the depth of one tap: tma_long, or, of two terms, tma_short, which takes as
// much memory as one term. Then two blocks fit on a multiprocessor and hide each other's ends, but
// one alone would have too few copies under way.
constexpr int tma_long = 64, tma_short = 32;
__host__ __device__ inline int stages_of(int depth, int stage_depth) {
  return (depth + stage_depth - 1) / stage_depth;
}
// Rows of a weight gradient come in panels of channels of one tap; the last may be filled in part.
constexpr int tma_panel = 64;
__host__ __device__ inline int panels_of_tap(int channels) {
  return (channels + tma_panel - 1) / tma_panel;
}

constexpr int most_tma_terms = 2, most_tma_phases = 4;
// A product and where its operands are.
struct TmaProduct {
  GemmPart part;  // its split_depth counts stages
  CUtensorMap left[most_tma_phases * most_tma_terms], right[most_tma_terms];
  bool flat;  // the left operand is a matrix: one tap, nothing skipped
};
cudaError_t map_operands(TmaProduct& product, int columns, int terms, bool fp16);

// Whether the accelerator's ways to walk through a tensor suffice for the product.
bool tma_supports(const ConvShape& packed, GemmKind kind, Math math);
// Blocks on a multiprocessor.
constexpr int tma_blocks(int columns, int terms, int stage_depth) {
  return columns <= 128 && (terms == 1 || stage_depth == tma_short) ? 2 : 1;
}

// In tiles of 128 rows and 64, 96, 128, 192 or 256 columns; of two terms, the widest have short
// stages.
cudaError_t launch_tma_tf32(const GemmPart& part, int columns, cudaStream_t stream);
cudaError_t launch_tma_bf16(const GemmPart& part, int columns, cudaStream_t stream);
cudaError_t launch_tma_fp16(const GemmPart& part, int columns, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
