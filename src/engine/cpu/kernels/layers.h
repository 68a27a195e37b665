#pragma once
#include <cstdint>

#include "engine/layers.h"

namespace sweetspot::engine::cpu {

// The inner loops of layers other than convolutions, products and pooling over all channels; part
// of Kernels. All work on units of 16 channels.

// Groups of values that are normalised together: `blocks` units of 16, `stride` floats apart. The
// blocks from `first_partial` on have `used` values, followed by zeros.
struct NormGroup {
  std::int64_t blocks, stride, first_partial, used;
  float epsilon;
};

struct LayerKernels {
  void (*apply)(const ElementFunction&, const float* x, std::int64_t count, float* y);
  // `known` is the input or the output, as derives_from_input says.
  void (*apply_back)(const ElementFunction&, const float* known, const float* gradient,
                     std::int64_t count, float* to);

  // weights: (taps, unit); bias may be null.
  void (*depthwise)(const DepthwisePlane&, const float* in, const float* weights, const float* bias,
                    bool relu, float* out);
  void (*depthwise_data)(const DepthwisePlane&, const float* gradient, const float* weights,
                         float* to);
  // Adds to weights, and to bias[unit] if there is one.
  void (*depthwise_weights)(const DepthwisePlane&, const float* in, const float* gradient,
                            float* weights, float* bias);

  // y = (x − mean) · rate · gamma + beta of one group; null: 1 and 0. mean and rate (1/σ) are kept
  // for the backward pass, which adds to the gradients of gamma and beta unless they are null.
  void (*normalise_group)(const NormGroup&, const float* x, const float* gamma, const float* beta,
                          float* y, float* mean, float* rate);
  void (*normalise_group_back)(const NormGroup&, const float* x, const float* gamma, float mean,
                               float rate, const float* gradient, float* to, float* gamma_gradient,
                               float* beta_gradient);

  // x > 0 ? x : alpha · x; alpha has 16 floats, or as many as x.
  void (*prelu)(const float* x, const float* alpha, bool alpha_for_each, std::int64_t count,
                float* y);
  // Adds to the gradient of alpha; `to` may be null.
  void (*prelu_back)(const float* x, const float* alpha, bool alpha_for_each, const float* gradient,
                     std::int64_t count, float* to, float* alpha_gradient);

  void (*scale_shift)(const float* x, float scale, float shift, std::int64_t count, float* y);
  // Each lane has its own factor.
  void (*scale_lanes)(const float* x, const float* factors, std::int64_t count, float* y);

  // Channels repeated `times` in a row: unit k of the `times` units that one unit becomes, and the
  // way back, which adds it.
  void (*repeat_lanes)(const float* from, std::int64_t positions, std::int64_t times,
                       std::int64_t k, float* to);
  void (*add_repeated)(const float* from, std::int64_t positions, std::int64_t times,
                       std::int64_t k, float* to);

  // noise[e] for e in [0, count), rounded up to 64: standard normal. Elements i and i + 16 of each
  // 32 are a Box-Muller pair, from the words that keep_mask uses for them.
  void (*normal_noise)(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
                       std::uint64_t first_counter, std::int64_t count, float* noise);

  // The penalty's part of a gradient: += l1 · sign(w) + 2 · l2 · w, and the penalty itself.
  void (*add_penalty)(float l1, float l2, const float* weight, std::int64_t count, float* gradient);
  double (*penalty)(float l1, float l2, const float* weight, std::int64_t count);
};

}  // namespace sweetspot::engine::cpu
