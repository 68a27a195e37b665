// Normalisation over a group of one sample's values. Included by kernels.inl.

// 1 in the lanes that contain values, from lane v of a unit on.
inline vec used_lanes(std::int64_t used, int v) {
  vec mask;
  for (int lane = 0; lane < lanes; ++lane) mask[lane] = v + lane < used ? 1.f : 0.f;
  return mask;
}

inline float group_sum(vec sum) {
  float total = 0;
  for (int lane = 0; lane < lanes; ++lane) total += sum[lane];
  return total;
}

void normalise_group(const NormGroup& given, const float* x, const float* gamma, const float* beta,
                     float* y, float* mean, float* rate) {
  const NormGroup n = given;
  const float count =
      static_cast<float>(n.first_partial * 16 + (n.blocks - n.first_partial) * n.used);
  vec sum{};
  for (std::int64_t b = 0; b < n.blocks; ++b)
    for (int v = 0; v < 16; v += lanes) sum += load(x + b * n.stride + v);
  const float average = group_sum(sum) / count;
  vec squares{};
  for (std::int64_t b = 0; b < n.blocks; ++b)
    for (int v = 0; v < 16; v += lanes) {
      vec d = load(x + b * n.stride + v) - average;
      if (b >= n.first_partial) d *= used_lanes(n.used, v);
      squares += d * d;
    }
  const float factor = 1 / __builtin_sqrtf(group_sum(squares) / count + n.epsilon);
  *mean = average, *rate = factor;
  for (std::int64_t b = 0; b < n.blocks; ++b)
    for (int v = 0; v < 16; v += lanes) {
      vec value = (load(x + b * n.stride + v) - average) * factor;
      if (gamma) value *= load(gamma + b * 16 + v);
      if (beta) value += load(beta + b * 16 + v);
      if (b >= n.first_partial) value *= used_lanes(n.used, v);
      store(y + b * n.stride + v, value);
    }
}

void normalise_group_back(const NormGroup& given, const float* x, const float* gamma, float mean,
                          float rate, const float* gradient, float* to, float* gamma_gradient,
                          float* beta_gradient) {
  const NormGroup n = given;
  const float count =
      static_cast<float>(n.first_partial * 16 + (n.blocks - n.first_partial) * n.used);
  vec sum{}, product{};
  for (std::int64_t b = 0; b < n.blocks; ++b)
    for (int v = 0; v < 16; v += lanes) {
      vec g = load(gradient + b * n.stride + v);
      if (b >= n.first_partial) g *= used_lanes(n.used, v);
      const vec normal = (load(x + b * n.stride + v) - mean) * rate;
      if (gamma_gradient)
        store(gamma_gradient + b * 16 + v, load(gamma_gradient + b * 16 + v) + g * normal);
      if (beta_gradient) store(beta_gradient + b * 16 + v, load(beta_gradient + b * 16 + v) + g);
      const vec scaled = gamma ? g * load(gamma + b * 16 + v) : g;
      sum += scaled, product += scaled * normal;
    }
  if (!to) return;
  const float average = group_sum(sum) / count, slope = group_sum(product) / count;
  for (std::int64_t b = 0; b < n.blocks; ++b)
    for (int v = 0; v < 16; v += lanes) {
      vec g = load(gradient + b * n.stride + v);
      if (gamma) g *= load(gamma + b * 16 + v);
      const vec normal = (load(x + b * n.stride + v) - mean) * rate;
      vec value = rate * (g - average - normal * slope);
      if (b >= n.first_partial) value *= used_lanes(n.used, v);
      store(to + b * n.stride + v, value);
    }
}
