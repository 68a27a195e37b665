// Elementwise functions, forward and backward, for activations other than ReLU, sigmoid and tanh.
// Included by kernels.inl.

// Abramowitz and Stegun 7.1.26, to 1.5e-7: a polynomial in 1 / (1 + p|x|) times exp(−x²), which is
// an argument because the slope needs it too.
inline vec error_function(vec x, vec exp_of_minus_square) {
  const vec size = x < vec{} ? -x : x;
  const vec t = 1.f / (1.f + 0.3275911f * size);
  vec p = broadcast(1.061405429f);
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const vec y = 1.f - p * t * exp_of_minus_square;
  return x < vec{} ? -y : y;
}

constexpr float selu_scale = 1.05070098f, selu_alpha = 1.67326324f;
constexpr float root_of_two_over_pi = 0.797884561f, gelu_cubic = 0.044715f;

template <ElementFunction::Kind kind>
inline vec function_of(vec x, float slope, float threshold, float most) {
  using Kind = ElementFunction::Kind;
  if constexpr (kind == Kind::rectified) {
    const vec bounded = x > most ? broadcast(most) : x;
    return x < threshold ? slope * (x - threshold) : bounded;
  }
  if constexpr (kind == Kind::elu) return x > vec{} ? x : slope * (exponential(x) - 1.f);
  if constexpr (kind == Kind::selu)
    return selu_scale * (x > vec{} ? x : selu_alpha * (exponential(x) - 1.f));
  if constexpr (kind == Kind::gelu) {
    const vec z = x * 0.707106781f;
    return 0.5f * x * (1.f + error_function(z, exponential(-z * z)));
  }
  if constexpr (kind == Kind::gelu_tanh)
    return 0.5f * x *
           (1.f + hyperbolic_tangent(root_of_two_over_pi * x * (1.f + gelu_cubic * x * x)));
  if constexpr (kind == Kind::swish) return x * sigmoid(x);
  if constexpr (kind == Kind::softplus) {
    const vec size = x < vec{} ? -x : x;
    return positive_part(x) + log_of_one_plus(exponential(-size));
  }
  if constexpr (kind == Kind::softsign) return x / (1.f + (x < vec{} ? -x : x));
  if constexpr (kind == Kind::exponential) return exponential(x);
  if constexpr (kind == Kind::hard_sigmoid) {
    const vec y = slope * x + 0.5f;
    const vec low = y < 0.f ? vec{} : y;
    return low > 1.f ? broadcast(1.f) : low;
  }
}

// The slope at `k`: the input or the output, as derives_from_input says. At an edge it is that of
// PyTorch and TensorFlow: the one below zero, or below the threshold, and none at the most.
template <ElementFunction::Kind kind>
inline vec slope_of(vec k, float slope, float threshold, float most) {
  using Kind = ElementFunction::Kind;
  const vec one = broadcast(1.f);
  if constexpr (kind == Kind::rectified) {
    const vec above = k >= most ? vec{} : one;
    return k <= threshold ? broadcast(slope) : above;
  }
  if constexpr (kind == Kind::elu) return k > vec{} ? one : k + slope;
  if constexpr (kind == Kind::selu)
    return k > vec{} ? broadcast(selu_scale) : k + selu_scale * selu_alpha;
  if constexpr (kind == Kind::gelu) {
    const vec z = k * 0.707106781f, e = exponential(-z * z);
    return 0.5f * (1.f + error_function(z, e)) + k * 0.398942280f * e;
  }
  if constexpr (kind == Kind::gelu_tanh) {
    const vec square = k * k;
    const vec t = hyperbolic_tangent(root_of_two_over_pi * k * (1.f + gelu_cubic * square));
    return 0.5f * (1.f + t) +
           0.5f * k * (1.f - t * t) * root_of_two_over_pi * (1.f + 3 * gelu_cubic * square);
  }
  if constexpr (kind == Kind::swish) {
    const vec s = sigmoid(k);
    return s * (1.f + k * (1.f - s));
  }
  if constexpr (kind == Kind::softplus) return 1.f - exponential(-k);
  if constexpr (kind == Kind::softsign) {
    const vec rest = 1.f - (k < vec{} ? -k : k);
    return rest * rest;
  }
  if constexpr (kind == Kind::exponential) return k;
  if constexpr (kind == Kind::hard_sigmoid) {
    const vec below = k < 1.f ? broadcast(slope) : vec{};
    return k > 0.f ? below : vec{};
  }
}

template <ElementFunction::Kind kind>
void apply_as(ElementFunction f, const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; i += lanes)
    store(y + i, function_of<kind>(load(x + i), f.slope, f.threshold, f.most));
}
template <ElementFunction::Kind kind>
void apply_back_as(ElementFunction f, const float* known, const float* gradient, std::int64_t count,
                   float* to) {
  for (std::int64_t i = 0; i < count; i += lanes)
    store(to + i,
          load(gradient + i) * slope_of<kind>(load(known + i), f.slope, f.threshold, f.most));
}

#define SWEETSPOT_EACH_FUNCTION(DO) \
  DO(rectified)                     \
  DO(elu)                           \
  DO(selu)                          \
  DO(gelu) DO(gelu_tanh) DO(swish) DO(softplus) DO(softsign) DO(exponential) DO(hard_sigmoid)

void apply(const ElementFunction& f, const float* x, std::int64_t count, float* y) {
  switch (f.kind) {
#define SWEETSPOT_APPLY(kind)       \
  case ElementFunction::Kind::kind: \
    return apply_as<ElementFunction::Kind::kind>(f, x, count, y);
    SWEETSPOT_EACH_FUNCTION(SWEETSPOT_APPLY)
#undef SWEETSPOT_APPLY
  }
}

void apply_back(const ElementFunction& f, const float* known, const float* gradient,
                std::int64_t count, float* to) {
  switch (f.kind) {
#define SWEETSPOT_APPLY(kind)       \
  case ElementFunction::Kind::kind: \
    return apply_back_as<ElementFunction::Kind::kind>(f, known, gradient, count, to);
    SWEETSPOT_EACH_FUNCTION(SWEETSPOT_APPLY)
#undef SWEETSPOT_APPLY
  }
}
#undef SWEETSPOT_EACH_FUNCTION

void prelu(const float* x, const float* alpha, bool alpha_for_each, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; i += lanes) {
    const vec v = load(x + i), a = load(alpha + (alpha_for_each ? i : i % 16));
    store(y + i, v > vec{} ? v : a * v);
  }
}

void prelu_back(const float* x, const float* alpha, bool alpha_for_each, const float* gradient,
                std::int64_t count, float* to, float* alpha_gradient) {
  for (int v = 0; v < 16; v += lanes) {
    vec sum{};
    for (std::int64_t i = v; i < count; i += 16) {
      const vec value = load(x + i), g = load(gradient + i);
      const vec a = load(alpha + (alpha_for_each ? i : v));
      if (to) store(to + i, value > vec{} ? g : a * g);
      const vec part = value > vec{} ? vec{} : g * value;
      if (alpha_for_each)
        store(alpha_gradient + i, load(alpha_gradient + i) + part);
      else
        sum += part;
    }
    if (!alpha_for_each) store(alpha_gradient + v, load(alpha_gradient + v) + sum);
  }
}

void scale_shift(const float* x, float scale, float shift, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; i += lanes) store(y + i, load(x + i) * scale + shift);
}

void scale_lanes(const float* x, const float* factors, std::int64_t count, float* y) {
  for (int v = 0; v < 16; v += lanes) {
    const vec factor = load(factors + v);
    for (std::int64_t i = v; i < count; i += 16) store(y + i, load(x + i) * factor);
  }
}

// sin and cos of 2π(v − ½), v in [0, 1): full turns do not matter, and a sign change gives another
// pair of the same distribution; Taylor series over a quarter turn, and angle doubling.
inline void sine_and_cosine(vec v, vec& sine, vec& cosine) {
  const vec a = (v - 0.5f) * 3.14159265f;  // half the angle, within ±π/2
  const vec s = a * a;
  vec p = broadcast(-2.5052108e-8f);
  p = p * s + 2.7557319e-6f;
  p = p * s - 1.9841270e-4f;
  p = p * s + 8.3333333e-3f;
  p = p * s - 1.6666667e-1f;
  const vec half_sine = a + a * s * p;
  vec q = broadcast(2.0876757e-9f);
  q = q * s - 2.7557319e-7f;
  q = q * s + 2.4801587e-5f;
  q = q * s - 1.3888889e-3f;
  q = q * s + 4.1666667e-2f;
  q = q * s - 0.5f;
  const vec half_cosine = 1.f + s * q;
  sine = 2.f * half_sine * half_cosine;
  cosine = 1.f - 2.f * half_sine * half_sine;
}

inline vec root(vec x) {
  vec y;
  for (int lane = 0; lane < lanes; ++lane) y[lane] = __builtin_sqrtf(x[lane]);
  return y;
}

void normal_noise(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
                  std::uint64_t first_counter, std::int64_t count, float* noise) {
  const PhiloxKeys keys(seed);
  for (std::int64_t e = 0; e < count; e += 64, first_counter += 16) {
    std::uint32_t words[4][16];
    philox_words(keys, purpose, step, first_counter, words);
    for (int pair = 0; pair < 4; pair += 2) {
      alignas(64) float u[16], v[16];
      for (int i = 0; i < 16; ++i) {
        u[i] = (static_cast<float>(words[pair][i] >> 8) + 1.f) * 0x1p-24f;
        v[i] = static_cast<float>(words[pair + 1][i] >> 8) * 0x1p-24f;
      }
      for (int l = 0; l < 16; l += lanes) {
        vec sine, cosine;
        sine_and_cosine(load(v + l), sine, cosine);
        const vec radius = root(-2.f * logarithm(load(u + l)));
        store(noise + e + 16 * pair + l, radius * cosine);
        store(noise + e + 16 * (pair + 1) + l, radius * sine);
      }
    }
  }
}

void add_penalty(float l1, float l2, const float* weight, std::int64_t count, float* gradient) {
  for (std::int64_t i = 0; i < count; i += lanes) {
    const vec w = load(weight + i);
    const vec below = w < vec{} ? broadcast(-l1) : vec{};
    store(gradient + i, load(gradient + i) + (w > vec{} ? broadcast(l1) : below) + 2 * l2 * w);
  }
}

double penalty(float l1, float l2, const float* weight, std::int64_t count) {
  double total = 0;
  for (std::int64_t i = 0; i < count;) {
    vec sizes{}, squares{};
    const std::int64_t end = count - i < 4096 ? count : i + 4096;
    for (; i < end; i += lanes) {
      const vec w = load(weight + i);
      sizes += w < vec{} ? -w : w;
      squares += w * w;
    }
    for (int lane = 0; lane < lanes; ++lane)
      total += static_cast<double>(l1) * sizes[lane] + static_cast<double>(l2) * squares[lane];
  }
  return total;
}
