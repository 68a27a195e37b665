#pragma once
#include "engine/cuda/kernels/launch.h"

// Batch normalisation: in one kernel that holds all values in shared memory, or in two.
namespace sweetspot::engine::cuda {

// How blocks divide a normalisation: vectors of four features, slices of the rows, and, in two
// kernels, clusters of blocks that share a slice.
struct NormShares {
  int columns = 1, slices = 1, cluster = 1;
};

struct NormPass {
  int rows, padded;     // padded features in each row; the padding stays zero
  int pitch, channels;  // features come in runs of `pitch`, of which `channels` are not padding
  bool training;
  Function function;  // after the normalisation, in the same pass
  bool pooled;        // 2×2 max pooling after that: output and gradient have a row per window
  int width;          // of the image that is pooled
  Divider by_windows_x;
  std::uint8_t* code;  // of each pooled value: which of its window's four it is
  float momentum, epsilon;
  const float *input, *gamma, *beta, *gradient;
  float *moving_mean, *moving_variance, *mean, *scale;  // mean and 1/σ of the micro-batch
  float *output, *input_gradient, *gamma_gradient, *beta_gradient;
  ValueTerms output_terms, input_gradient_terms;
  ValueTerms input_terms, gradient_terms;  // the same of what is read, floats or one term
  StepState* state;  // learns of an overflow, if the gradient is one term of fp16
  float* sums;       // of the input gradient's columns, or null: (padded)
  NormShares shares;
  float *partials, *pivots;  // in two kernels: (slices, 2, padded) and (padded)
};

// In two kernels.
constexpr int norm_threads = 512, most_norm_columns = 32, norm_cluster_blocks = 8;
NormShares share_norm(int rows, int padded, const Chip& chip);
cudaError_t launch_norm(const NormPass& n, cudaStream_t stream);
cudaError_t launch_norm_backward(const NormPass& n, cudaStream_t stream);
// The first of them, for shares with clusters, which only Hopper's own code has.
cudaError_t launch_norm_sums_in_clusters(const NormPass& n, bool backward, cudaStream_t stream);

// In one kernel, by single blocks, or by clusters of as many as there are slices.
constexpr int most_held_threads = 512, least_held_threads = 128;
constexpr int most_held_columns = 4, most_held_blocks = 16;
// What a block holds of each vector of four features; with pooling, of the four of a window.
inline int held_bytes(const NormPass& n, bool backward) {
  constexpr int vector = 16, half_vector = 8, code = 4;
  const int x = n.input_terms.terms > 0 ? half_vector : vector;
  const int g = n.gradient_terms.terms > 0 ? half_vector : vector;
  return (n.pooled ? 4 : 1) * x + (backward ? g + (n.pooled ? code : 0) : 0);
}
// From what held_bytes() uses, rows, features, and how results are stored. No slices: there are too
// many rows.
NormShares share_norm_held(const NormPass& n, bool backward, const Chip& chip);
cudaError_t launch_norm_held(const NormPass& n, bool backward, cudaStream_t stream);
// For several slices, up to this many.
int most_norm_blocks();
cudaError_t launch_norm_in_clusters(const NormPass& n, bool backward, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
