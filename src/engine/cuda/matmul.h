#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "core/units.h"

// Large matrix products by cuBLASLt, which is opened when the program runs; it need not be there.
namespace sweetspot::engine::cuda {

// Whether it is; SWEETSPOT_CUBLASLT=0 says that it is not.
bool has_matmul();

constexpr core::Bytes matmul_workspace_bytes = core::Bytes{32} << 20;

// to = factor · left · right, and the bias of each column, where there is one. All matrices
// lie row by row: left (rows, depth), right (depth, columns); a turned one lies as its
// transpose. Operands are floats, rounded to tf32 on their way, or bf16; results and sums fp32.
// The algorithm is the first that the library's own model names, which depends on nothing but the
// sizes and the chip: nothing is measured, and the same product adds up in the same order each
// time.
struct Matmul {
  std::int64_t rows = 0, columns = 0, depth = 0;
  // So many products of `depth` each, whose operands and results follow each other.
  int splits = 1;
  bool left_turned = false, right_turned = false, bf16 = false;
  float factor = 1;
  const void *left = nullptr, *right = nullptr;
  float* to = nullptr;
  const float* bias = nullptr;
  void* workspace = nullptr;  // matmul_workspace_bytes of it
  cudaStream_t stream = nullptr;
};
void run(const Matmul& product);

}  // namespace sweetspot::engine::cuda
