// Batch normalisation of adjacent units of 16 features, whose values are `stride` floats apart: the
// positions of a sample's plane (one unit), or the samples of a micro-batch of vectors. Included by
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

// The samples of a wide vector are far apart: a walk down a single register of features misses the
// cache at every sample. So several registers are taken at once, as many as stay in the register
// file with their sums. How many does not change a feature's sums.
template <int n>
struct Beside {};
template <class Visit>
inline void each_register_group(std::int64_t units, Visit visit) {
  constexpr int most = registers / 8;  // 4 or 2
  const std::int64_t features = units * 16;
  std::int64_t f = 0;
  for (; f + most * lanes <= features; f += most * lanes) visit(Beside<most>{}, f);
  for (; f + 2 * lanes <= features; f += 2 * lanes) visit(Beside<2>{}, f);
  for (; f < features; f += lanes) visit(Beside<1>{}, f);
}

template <int n>
inline void read(const float* from, vec (&to)[n]) {
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i) to[i] = load(from + i * lanes);
}

template <int n>
inline void moments_of(const float* x, std::int64_t positions, std::int64_t stride, float* mean,
                       float* squares) {
  vec sum[n];
  blocked_sums(positions, stride, sum, [=](std::int64_t at, vec(&to)[n]) {
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) to[i] += load(x + at + i * lanes);
  });
  vec m[n];
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i) {
    m[i] = sum[i] / static_cast<float>(positions);
    store(mean + i * lanes, m[i]);
  }
  blocked_sums(positions, stride, sum, [=](std::int64_t at, vec(&to)[n]) {
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      const vec d = load(x + at + i * lanes) - m[i];
      to[i] += d * d;
    }
  });
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i) store(squares + i * lanes, sum[i]);
}

void moments(const float* x, std::int64_t units, std::int64_t positions, std::int64_t stride,
             float* mean, float* squares) {
  each_register_group(units, [=]<int n>(Beside<n>, std::int64_t f) {
    moments_of<n>(x + f, positions, stride, mean + f, squares + f);
  });
}

template <int n, bool relu>
inline void normalise_of(Normalise s, const float* x, float* y) {
  vec mean[n], scale[n], shift[n];
  read(s.mean, mean), read(s.scale, scale), read(s.shift, shift);
  for (std::int64_t p = 0; p < s.positions; ++p, x += s.stride, y += s.stride)
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      const vec to = (load(x + i * lanes) - mean[i]) * scale[i] + shift[i];
      store(y + i * lanes, relu ? positive_part(to) : to);
    }
}

// Of the features from f on.
inline Normalise from_feature(Normalise s, std::int64_t f) {
  s.mean += f, s.scale += f, s.shift += f;
  return s;
}

void normalise(const Normalise& given, const float* x, float* y) {
  const Normalise s = given;
  each_register_group(s.units, [=]<int n>(Beside<n>, std::int64_t f) {
    if (s.relu)
      normalise_of<n, true>(from_feature(s, f), x + f, y + f);
    else
      normalise_of<n, false>(from_feature(s, f), x + f, y + f);
  });
}

template <int n, bool relu>
inline void normalise_sums_of(Normalise s, const float* x, const float* g, float* passed,
                              float* sum, float* product) {
  vec mean[n], scale[n], shift[n], total[2 * n];
  read(s.mean, mean), read(s.scale, scale), read(s.shift, shift);
  blocked_sums(s.positions, s.stride, total, [=](std::int64_t at, vec(&to)[2 * n]) {
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      const vec d = load(x + at + i * lanes) - mean[i];
      vec gradient = load(g + at + i * lanes);
      if (relu) gradient = d * scale[i] + shift[i] > vec{} ? gradient : vec{};
      store(passed + at + i * lanes, gradient);
      to[2 * i] += gradient;
      to[2 * i + 1] += gradient * d;
    }
  });
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i)
    store(sum + i * lanes, total[2 * i]), store(product + i * lanes, total[2 * i + 1]);
}

void normalise_sums(const Normalise& given, const float* x, const float* g, float* passed,
                    float* sum, float* product) {
  const Normalise s = given;
  each_register_group(s.units, [=]<int n>(Beside<n>, std::int64_t f) {
    if (s.relu)
      normalise_sums_of<n, true>(from_feature(s, f), x + f, g + f, passed + f, sum + f,
                                 product + f);
    else
      normalise_sums_of<n, false>(from_feature(s, f), x + f, g + f, passed + f, sum + f,
                                  product + f);
  });
}

template <int n>
inline void normalise_back_of(NormaliseBack s, const float* x, const float* g, float* to) {
  vec mean[n], scale[n], average[n], slope[n];
  read(s.mean, mean), read(s.scale, scale), read(s.average, average), read(s.slope, slope);
  for (std::int64_t p = 0; p < s.positions; ++p, x += s.stride, g += s.stride, to += s.stride)
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i)
      store(to + i * lanes, scale[i] * (load(g + i * lanes) - average[i] -
                                        (load(x + i * lanes) - mean[i]) * slope[i]));
}

void normalise_back(const NormaliseBack& given, const float* x, const float* g, float* to) {
  const NormaliseBack s = given;
  each_register_group(s.units, [=]<int n>(Beside<n>, std::int64_t f) {
    NormaliseBack own = s;
    own.mean += f, own.scale += f, own.average += f, own.slope += f;
    normalise_back_of<n>(own, x + f, g + f, to + f);
  });
}
