// Standalone activations, over whole units. Included by kernels.inl.
#include "engine/cpu/kernels/math.inl"

template <Function function>
inline vec activated(vec x) {
  if constexpr (function == Function::relu) return positive_part(x);
  if constexpr (function == Function::sigmoid) return sigmoid(x);
  if constexpr (function == Function::tanh) return hyperbolic_tangent(x);
  return x;
}

// The slope at an output y.
template <Function function>
inline vec slope_times(vec y, vec g) {
  if constexpr (function == Function::relu) return y > vec{} ? g : vec{};
  if constexpr (function == Function::sigmoid) return g * (y * (1.f - y));
  if constexpr (function == Function::tanh) return g * (1.f - y * y);
  return g;
}

template <Function function>
void activate_as(const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; i += lanes) store(y + i, activated<function>(load(x + i)));
}

template <Function function>
void activate_back_as(const float* y, const float* g, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; i += lanes)
    store(to + i, slope_times<function>(load(y + i), load(g + i)));
}

void activate(Function function, const float* x, std::int64_t count, float* y) {
  switch (function) {
    case Function::relu:
      return activate_as<Function::relu>(x, count, y);
    case Function::sigmoid:
      return activate_as<Function::sigmoid>(x, count, y);
    case Function::tanh:
      return activate_as<Function::tanh>(x, count, y);
  }
}

void activate_back(Function function, const float* y, const float* g, std::int64_t count,
                   float* to) {
  switch (function) {
    case Function::relu:
      return activate_back_as<Function::relu>(y, g, count, to);
    case Function::sigmoid:
      return activate_back_as<Function::sigmoid>(y, g, count, to);
    case Function::tanh:
      return activate_back_as<Function::tanh>(y, g, count, to);
  }
}

// Probabilities of `count` logits, of which `largest` is one; returns Σ exp(logit − largest).
double softmax(float* values, std::int64_t count, float largest) {
  vec sums{};
  double sum = 0;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const vec e = exponential(load(values + i) - largest);
    store(values + i, e);
    sums += e;
  }
  for (int lane = 0; lane < lanes; ++lane) sum += sums[lane];
  for (; i < count; ++i) {
    const vec e = exponential(broadcast(values[i] - largest));
    sum += values[i] = e[0];
  }
  const float part = static_cast<float>(1 / sum);
  for (i = 0; i < count; ++i) values[i] *= part;
  return sum;
}
