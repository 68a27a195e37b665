#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"

// Batch normalisation. A block has 32 features and eight groups of rows (sample, position); the
// groups' sums are added in order, in double, so that the result depends on nothing else.
namespace sweetspot::engine::cuda {
namespace {

constexpr int features_at_once = 32, groups = 8, threads = features_at_once * groups;

struct Sum {
  double slots[groups][features_at_once];
  __device__ double over_groups(double mine) {
    const int feature = threadIdx.x % features_at_once, group = threadIdx.x / features_at_once;
    __syncthreads();
    slots[group][feature] = mine;
    __syncthreads();
    double total = 0;
    for (int i = 0; i < groups; ++i) total += slots[i][feature];
    return total;
  }
};

__global__ void __launch_bounds__(threads) norm_kernel(const __grid_constant__ NormPass n) {
  __shared__ Sum sum;
  wait_for_predecessor();
  const int f = blockIdx.x * features_at_once + threadIdx.x % features_at_once;
  const int group = threadIdx.x / features_at_once;
  const bool real = f < n.padded;
  const std::int64_t rows = std::int64_t{n.count} * n.positions;
  float mean, scale;
  if (n.training) {
    double total = 0, square = 0;
    for (std::int64_t r = group; real && r < rows; r += groups) total += n.input[r * n.padded + f];
    const double exact = sum.over_groups(total) / rows;
    for (std::int64_t r = group; real && r < rows; r += groups) {
      const double d = n.input[r * n.padded + f] - exact;
      square += d * d;
    }
    const double variance = sum.over_groups(square) / rows;
    mean = static_cast<float>(exact), scale = static_cast<float>(1 / sqrt(variance + n.epsilon));
    if (real && group == 0) {
      n.mean[f] = mean, n.scale[f] = scale;
      n.moving_mean[f] = n.moving_mean[f] * n.momentum + mean * (1 - n.momentum);
      n.moving_variance[f] =
          n.moving_variance[f] * n.momentum + static_cast<float>(variance) * (1 - n.momentum);
    }
  } else if (real) {
    mean = n.moving_mean[f], scale = 1 / sqrtf(n.moving_variance[f] + n.epsilon);
  }
  if (!real) return;
  const float factor = scale * (n.gamma ? n.gamma[f] : 1.f), shift = n.beta ? n.beta[f] : 0.f;
  for (std::int64_t r = group; r < rows; r += groups)
    n.output[r * n.padded + f] = (n.input[r * n.padded + f] - mean) * factor + shift;
}

__global__ void __launch_bounds__(threads)
    norm_backward_kernel(const __grid_constant__ NormPass n) {
  __shared__ Sum sum;
  wait_for_predecessor();
  const int f = blockIdx.x * features_at_once + threadIdx.x % features_at_once;
  const int group = threadIdx.x / features_at_once;
  const bool real = f < n.padded;
  const std::int64_t rows = std::int64_t{n.count} * n.positions;
  const float mean = real ? n.mean[f] : 0.f, scale = real ? n.scale[f] : 0.f;
  double total = 0, product = 0;  // Σ g and Σ g · x̂
  for (std::int64_t r = group; real && r < rows; r += groups) {
    const float g = n.gradient[r * n.padded + f];
    total += g, product += g * (n.input[r * n.padded + f] - mean) * scale;
  }
  total = sum.over_groups(total), product = sum.over_groups(product);
  if (!real) return;
  if (group == 0 && n.gamma_gradient) n.gamma_gradient[f] = static_cast<float>(product);
  if (group == 0 && n.beta_gradient) n.beta_gradient[f] = static_cast<float>(total);
  if (!n.input_gradient) return;
  const float factor = scale * (n.gamma ? n.gamma[f] : 1.f);
  const auto a = static_cast<float>(total / rows), b = static_cast<float>(product / rows);
  for (std::int64_t r = group; r < rows; r += groups)
    n.input_gradient[r * n.padded + f] = factor * (n.gradient[r * n.padded + f] - a -
                                                   (n.input[r * n.padded + f] - mean) * scale * b);
}

int blocks_of(const NormPass& n) { return (n.padded + features_at_once - 1) / features_at_once; }

}  // namespace

cudaError_t launch_norm(const NormPass& n, cudaStream_t stream) {
  return launch(norm_kernel, blocks_of(n), threads, 0, stream, n);
}
cudaError_t launch_norm_backward(const NormPass& n, cudaStream_t stream) {
  return launch(norm_backward_kernel, blocks_of(n), threads, 0, stream, n);
}

}  // namespace sweetspot::engine::cuda
