#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "core/units.h"

// Large matrix products with cuBLASLt, which is opened at run time if present.
namespace sweetspot::engine::cuda {

// Whether it is present; SWEETSPOT_CUBLASLT=0 turns it off.
bool has_matmul();

constexpr core::Bytes matmul_workspace_bytes = core::Bytes{32} << 20;

// to = factor · left · right, plus the bias of each column, if any. All matrices are row-major:
// left (rows, depth), right (depth, columns); a `turned` one is stored as its transpose. Operands
// are floats, rounded to tf32 when loaded, or bf16; sums are fp32, and so are results, unless they
// are to be bf16, without a bias. The algorithm is the
// first that the library's heuristic returns, which depends only on the sizes and the chip: nothing
// is measured, and the same product always sums in the same order.
struct Matmul {
  std::int64_t rows = 0, columns = 0, depth = 0;
  // This many products of `depth` each, with consecutive operands and results.
  int splits = 1;
  bool left_turned = false, right_turned = false, bf16 = false, to_bf16 = false;
  float factor = 1;
  const void *left = nullptr, *right = nullptr;
  void* to = nullptr;
  const float* bias = nullptr;
  void* workspace = nullptr;  // matmul_workspace_bytes of it
  cudaStream_t stream = nullptr;
};
void run(const Matmul& product);

}  // namespace sweetspot::engine::cuda
