// Winograd in fp32: the points of transforms.inl stored as floats, and the inverse transforms of
// products. Included by kernels.inl.

struct Points {
  float* points;
  std::int64_t stride;
  void operator()(int p, int v, vec x) const { store(points + p * stride + v, x); }
};

template <int r>
void winograd_output_of(WinogradOutput o) {
  constexpr int n = r + 1;
  for (int v = 0; v < 16; v += lanes) {
    vec in[n * n], out[4];
#pragma GCC unroll 64
    for (int p = 0; p < n * n; ++p) in[p] = load(o.points + p * o.point_stride + v);
    transform_square(WinogradMatrices<r>::at, in, out);
    const vec bias = o.bias ? load(o.bias + v) : vec{};
    alignas(64) float window[4 * 16];
    for (int s = 0; s < 4; ++s) store(window + s * 16 + v, out[s] + bias);
    pool_lanes(window, 4, o.relu, o.out, o.winner, v);
  }
}

template <int m, int r>
void filter_output_of(FilterOutput o) {
  constexpr int n = m + r - 1;
  for (int v = 0; v < 16; v += lanes) {
    vec in[n * n], out[m * m];
#pragma GCC unroll 64
    for (int p = 0; p < n * n; ++p) in[p] = load(o.points + p * o.point_stride + v);
    transform_square(FilterMatrices<m, r>::at, in, out);
    const vec bias = o.bias ? load(o.bias + v) : vec{};
#pragma GCC unroll 16
    for (int i = 0; i < m * m; ++i) {
      out[i] += bias;
      if (o.relu) out[i] = positive_part(out[i]);
    }
    float* line = o.out + v;
#pragma GCC unroll 4
    for (int y = 0; y < m; ++y, line += o.line_stride)
#pragma GCC unroll 4
      for (int x = 0; x < m; ++x)
        if (y < o.lines && x < o.columns) store(line + x * 16, out[y * m + x]);
  }
}

template <int m, int r>
void filter_weight_gradient_of(const float* points, std::int64_t point_stride, float* taps,
                               std::int64_t tap_stride) {
  constexpr int n = m + r - 1;
  for (int v = 0; v < 16; v += lanes) {
    vec in[n * n], out[r * r];
#pragma GCC unroll 64
    for (int p = 0; p < n * n; ++p) in[p] = load(points + p * point_stride + v);
    transform_square(FilterMatrices<m, r>::gt, in, out);
#pragma GCC unroll 25
    for (int t = 0; t < r * r; ++t) {
      float* to = taps + t * tap_stride + v;
      store(to, load(to) + out[t]);
    }
  }
}

void filter_weights(Filter f, const float* taps, std::int64_t tap_stride, float* points,
                    std::int64_t point_stride) {
  filter_weights_any(f, taps, tap_stride, Points{points, point_stride});
}

void filter_output(Filter f, const FilterOutput& o) {
  if (f.size == 5) return filter_output_of<2, 5>(o);
  if (f.tile == 2) return filter_output_of<2, 3>(o);
  filter_output_of<4, 3>(o);
}

void filter_gradient(Filter f, const float* plane, std::int64_t line_stride, float* points,
                     std::int64_t point_stride) {
  filter_gradient_any(f, plane, line_stride, Points{points, point_stride});
}

void filter_weight_gradient(Filter f, const float* points, std::int64_t point_stride, float* taps,
                            std::int64_t tap_stride) {
  if (f.size == 5) return filter_weight_gradient_of<2, 5>(points, point_stride, taps, tap_stride);
  if (f.tile == 2) return filter_weight_gradient_of<2, 3>(points, point_stride, taps, tap_stride);
  filter_weight_gradient_of<4, 3>(points, point_stride, taps, tap_stride);
}

void winograd_weights(std::int64_t r, const float* taps, std::int64_t tap_stride, float* points,
                      std::int64_t point_stride) {
  winograd_weights_any(r, taps, tap_stride, Points{points, point_stride});
}

void winograd_input(std::int64_t r, const float* plane, std::int64_t line_stride, float* points,
                    std::int64_t point_stride) {
  winograd_input_any(r, plane, line_stride, Points{points, point_stride});
}

void winograd_output(std::int64_t r, const WinogradOutput& o) {
  if (r == 3) return winograd_output_of<3>(o);
  if (r == 4) return winograd_output_of<4>(o);
  winograd_output_of<5>(o);
}
