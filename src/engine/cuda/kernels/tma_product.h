#pragma once
#include <cuda.h>

#include "engine/cuda/kernels/packing.h"

// Products of packed operands whose tiles the tensor memory accelerator copies (tma_product.cuh).
namespace sweetspot::engine::cuda {

constexpr int tma_depth = 64;  // of one tap, in a stage
// Stages of one tap. Only those of the weight gradient's rows may be filled in part.
__host__ __device__ inline int stages_of_tap(int depth) { return (depth + tma_depth - 1) / 64; }

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

// In tiles of 128 rows and 64, 96, 128, 192 or 256 columns.
cudaError_t launch_tma_tf32(const GemmPart& part, int columns, cudaStream_t stream);
cudaError_t launch_tma_bf16(const GemmPart& part, int columns, cudaStream_t stream);
cudaError_t launch_tma_fp16(const GemmPart& part, int columns, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
