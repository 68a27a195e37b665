// Batch normalisation of one unit of 16 features, whose values are `stride` floats apart: the
// positions of a sample's plane, or the samples of a micro-batch of vectors. Included by
// kernels.inl.
//
// Sums of many floats are taken in blocks, so that no accumulator grows large relative to its
// terms.
constexpr std::int64_t sum_block = 256;

// Calls add(value's pointer offset, accumulators) for each position, blockwise; `n` accumulators.
template <int n, class Add>
inline void blocked_sums(std::int64_t positions, std::int64_t stride, vec (&total)[n], Add add) {
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) total[i] = vec{};
  for (std::int64_t first = 0; first < positions; first += sum_block) {
    const std::int64_t end = first + sum_block < positions ? first + sum_block : positions;
    vec even[n], odd[n];
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) even[i] = odd[i] = vec{};
    std::int64_t p = first;
    for (; p + 2 <= end; p += 2) add(p * stride, even), add((p + 1) * stride, odd);
    if (p < end) add(p * stride, even);
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) total[i] += even[i] + odd[i];
  }
}

void moments(const float* x, std::int64_t positions, std::int64_t stride, float* mean,
             float* squares) {
  for (int v = 0; v < 16; v += lanes) {
    const float* from = x + v;
    vec sum[1];
    blocked_sums(positions, stride, sum,
                 [=](std::int64_t at, vec(&to)[1]) { to[0] += load(from + at); });
    const vec m = sum[0] / static_cast<float>(positions);
    blocked_sums(positions, stride, sum, [=](std::int64_t at, vec(&to)[1]) {
      const vec d = load(from + at) - m;
      to[0] += d * d;
    });
    store(mean + v, m);
    store(squares + v, sum[0]);
  }
}

void normalise(const Normalise& given, const float* x, float* y) {
  const Normalise n = given;
  for (int v = 0; v < 16; v += lanes) {
    const vec mean = load(n.mean + v), scale = load(n.scale + v), shift = load(n.shift + v);
    const float* from = x + v;
    float* to = y + v;
    if (n.relu)
      for (std::int64_t p = 0; p < n.positions; ++p, from += n.stride, to += n.stride)
        store(to, positive_part((load(from) - mean) * scale + shift));
    else
      for (std::int64_t p = 0; p < n.positions; ++p, from += n.stride, to += n.stride)
        store(to, (load(from) - mean) * scale + shift);
  }
}

template <bool relu>
inline void normalise_sums_of(Normalise n, const float* x, const float* g, float* passed,
                              float* sum, float* product) {
  for (int v = 0; v < 16; v += lanes) {
    const vec mean = load(n.mean + v), scale = load(n.scale + v), shift = load(n.shift + v);
    vec total[2];
    blocked_sums(n.positions, n.stride, total, [=](std::int64_t at, vec(&to)[2]) {
      const vec d = load(x + at + v) - mean;
      vec gradient = load(g + at + v);
      if (relu) gradient = d * scale + shift > vec{} ? gradient : vec{};
      store(passed + at + v, gradient);
      to[0] += gradient;
      to[1] += gradient * d;
    });
    store(sum + v, total[0]);
    store(product + v, total[1]);
  }
}

void normalise_sums(const Normalise& n, const float* x, const float* g, float* passed, float* sum,
                    float* product) {
  if (n.relu) return normalise_sums_of<true>(n, x, g, passed, sum, product);
  normalise_sums_of<false>(n, x, g, passed, sum, product);
}

void normalise_back(const NormaliseBack& given, const float* x, const float* g, float* to) {
  const NormaliseBack n = given;
  for (int v = 0; v < 16; v += lanes) {
    const vec mean = load(n.mean + v), scale = load(n.scale + v), average = load(n.average + v),
              slope = load(n.slope + v);
    for (std::int64_t at = v; at < n.positions * n.stride; at += n.stride)
      store(to + at, scale * (load(g + at) - average - (load(x + at) - mean) * slope));
  }
}
