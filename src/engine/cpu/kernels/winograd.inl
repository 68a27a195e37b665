// Winograd in fp32: the points of transforms.inl stored as floats, and the inverse transforms of
// products. Included by kernels.inl.

struct Points {
  float* points;
  std::int64_t stride;
  void operator()(int p, int v, vec x) const { store(points + p * stride + v, x); }
};

// Calls use.operator()<tile, size, flat>() for one of minimal_filters.
template <class Use>
void with_filter(Filter f, Use use) {
  const auto with_axes = [&]<int m, int r>() {
    if (f.flat)
      use.template operator()<m, r, true>();
    else
      use.template operator()<m, r, false>();
  };
  if (f.side() == 4) {
    if (f.size == 2) return with_axes.template operator()<3, 2>();
    return with_axes.template operator()<2, 3>();
  }
  if (f.side() == 8) {
    if (f.size == 3) return with_axes.template operator()<6, 3>();
    if (f.size == 4) return with_axes.template operator()<5, 4>();
    return with_axes.template operator()<4, 5>();
  }
  if (f.size == 2) return with_axes.template operator()<5, 2>();
  if (f.size == 3) return with_axes.template operator()<4, 3>();
  if (f.size == 4) return with_axes.template operator()<3, 4>();
  with_axes.template operator()<2, 5>();
}

template <int r>
void winograd_output_of(WinogradOutput o) {
  constexpr int n = r + 1;
  for (int v = 0; v < 16; v += lanes) {
    vec in[n * n], out[4];
#pragma GCC unroll 64
    for (int p = 0; p < n * n; ++p) in[p] = load(o.points + p * o.point_stride + v);
    transform_tile<false>(FilterMatrices<2, r>::at, in, out);
    const vec bias = o.bias ? load(o.bias + v) : vec{};
    alignas(64) float window[4 * 16];
    for (int s = 0; s < 4; ++s) store(window + s * 16 + v, out[s] + bias);
    pool_lanes(window, 4, o.relu, o.out, o.winner, v);
  }
}

template <int m, int r, bool flat, int column_stride>
void filter_output_of(FilterOutput o) {
  if constexpr (column_stride > 0) o.column_stride = column_stride;
  constexpr int n = area<flat>(m + r - 1), outputs = area<flat>(m), tile_lines = flat ? 1 : m;
  for (int v = 0; v < 16; v += lanes) {
    vec in[n], out[outputs];
#pragma GCC unroll 64
    for (int p = 0; p < n; ++p) in[p] = load(o.points + p * o.point_stride + v);
    transform_tile<flat>(FilterMatrices<m, r>::at, in, out);
    const vec bias = o.bias ? load(o.bias + v) : vec{};
#pragma GCC unroll 36
    for (int i = 0; i < outputs; ++i) {
      out[i] += bias;
      if (o.relu) out[i] = positive_part(out[i]);
    }
    float* line = o.out + v;
#pragma GCC unroll 8
    for (int y = 0; y < tile_lines; ++y, line += o.line_stride)
#pragma GCC unroll 8
      for (int x = 0; x < m; ++x)
        if (y < o.lines && x < o.columns) store(line + x * o.column_stride, out[y * m + x]);
  }
}

template <int m, int r, bool flat>
void filter_weight_gradient_of(const float* points, std::int64_t point_stride, TapRows at,
                               float* matrix) {
  constexpr int n = area<flat>(m + r - 1), count = area<flat>(r);
  for (int v = 0; v < 16; v += lanes) {
    vec in[n], out[count];
#pragma GCC unroll 64
    for (int p = 0; p < n; ++p) in[p] = load(points + p * point_stride + v);
    transform_tile<flat>(FilterMatrices<m, r>::gt, in, out);
#pragma GCC unroll 25
    for (int t = 0; t < count; ++t) {
      if (at.rows[t] < 0) continue;
      float* to = matrix + at.rows[t] * at.stride + v;
      store(to, load(to) + out[t]);
    }
  }
}

void filter_weights(Filter f, const float* matrix, const TapRows& given, float* points,
                    std::int64_t point_stride) {
  const TapRows at = given;
  const auto tap = [=](int t, int v) {
    return at.rows[t] < 0 ? vec{} : load(matrix + at.rows[t] * at.stride + v);
  };
  with_filter(f, [=]<int m, int r, bool flat>() {
    filter_weights_of<m, r, flat>(tap, Points{points, point_stride});
  });
}

void filter_input(Filter f, const TilePlace& from, float* points, std::int64_t point_stride) {
  const TilePlace place = from;
  with_filter(f, [=]<int m, int r, bool flat>() {
    if (place.column_stride == 16)
      filter_input_of<m + r - 1, flat, 16>(place, Points{points, point_stride});
    else
      filter_input_of<m + r - 1, flat, 0>(place, Points{points, point_stride});
  });
}

void filter_output(Filter f, const FilterOutput& o) {
  with_filter(f, [&]<int m, int r, bool flat>() {
    if (o.column_stride == 16)
      filter_output_of<m, r, flat, 16>(o);
    else
      filter_output_of<m, r, flat, 0>(o);
  });
}

void filter_gradient(Filter f, const float* plane, std::int64_t line_stride, float* points,
                     std::int64_t point_stride) {
  const TilePlace place{plane, line_stride, 16};
  with_filter(f, [=]<int m, int r, bool flat>() {
    filter_gradient_of<m, r, flat>(place, Points{points, point_stride});
  });
}

void filter_weight_gradient(Filter f, const float* points, std::int64_t point_stride,
                            const TapRows& at, float* matrix) {
  with_filter(f, [&]<int m, int r, bool flat>() {
    filter_weight_gradient_of<m, r, flat>(points, point_stride, at, matrix);
  });
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
