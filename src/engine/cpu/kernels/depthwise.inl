// Convolutions with one filter per channel, over one unit's plane. Nothing is padded: taps outside
// the image are skipped, and the positions whose taps are all inside run in tiles. Included by
// kernels.inl.

constexpr std::int64_t depthwise_tile = 8;  // positions with one sum each

inline std::int64_t at_least(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
inline std::int64_t at_most(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
// ⌈a / b⌉ for b > 0 and any a.
inline std::int64_t ceiling(std::int64_t a, std::int64_t b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}

// Outputs [begin, end) along an axis whose windows are inside the input.
struct Inside {
  std::int64_t begin, end;
};
inline Inside inside(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                     std::int64_t pad) {
  const std::int64_t begin = at_most(at_least(ceiling(pad, stride), 0), out);
  const std::int64_t room = in - kernel + pad;
  const std::int64_t end = room < 0 ? 0 : at_most(room / stride + 1, out);
  return {begin, at_least(begin, end)};
}

// `n` outputs from x on, with all taps of rows [ky0, ky1) inside the input.
template <int n>
inline void depthwise_positions(DepthwisePlane p, const float* line, const float* weights,
                                const float* bias, bool relu, std::int64_t ky0, std::int64_t ky1,
                                float* out) {
  for (int v = 0; v < 16; v += lanes) {
    vec sum[n];
    const vec first = bias ? load(bias + v) : vec{};
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t) sum[t] = first;
    const std::int64_t step = p.stride_width * 16;
    for (std::int64_t ky = ky0; ky < ky1; ++ky) {
      const float* in = line + ky * p.in_width * 16 + v;
      const float* w = weights + ky * p.kernel_width * 16 + v;
      for (std::int64_t kx = 0; kx < p.kernel_width; ++kx, in += 16, w += 16) {
        const vec tap = load(w);
#pragma GCC unroll 8
        for (int t = 0; t < n; ++t) sum[t] += tap * load(in + t * step);
      }
    }
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t) store(out + t * 16 + v, relu ? positive_part(sum[t]) : sum[t]);
  }
}

inline void depthwise_border(DepthwisePlane p, const float* in, const float* weights,
                             const float* bias, bool relu, std::int64_t top, std::int64_t left,
                             float* out) {
  const std::int64_t ky0 = at_least(0, -top), ky1 = at_most(p.kernel_height, p.in_height - top);
  const std::int64_t kx0 = at_least(0, -left), kx1 = at_most(p.kernel_width, p.in_width - left);
  for (int v = 0; v < 16; v += lanes) {
    vec sum = bias ? load(bias + v) : vec{};
    for (std::int64_t ky = ky0; ky < ky1; ++ky)
      for (std::int64_t kx = kx0; kx < kx1; ++kx)
        sum += load(weights + (ky * p.kernel_width + kx) * 16 + v) *
               load(in + ((top + ky) * p.in_width + left + kx) * 16 + v);
    store(out + v, relu ? positive_part(sum) : sum);
  }
}

void depthwise(const DepthwisePlane& given, const float* in, const float* weights,
               const float* bias, bool relu, float* out) {
  const DepthwisePlane p = given;
  const Inside middle = inside(p.in_width, p.out_width, p.kernel_width, p.stride_width, p.pad_left);
  for (std::int64_t y = 0; y < p.out_height; ++y) {
    const std::int64_t top = y * p.stride_height - p.pad_top;
    const std::int64_t ky0 = at_least(0, -top), ky1 = at_most(p.kernel_height, p.in_height - top);
    float* to = out + y * p.out_width * 16;
    const auto left = [&](std::int64_t x) { return x * p.stride_width - p.pad_left; };
    std::int64_t x = 0;
    for (; x < middle.begin; ++x)
      depthwise_border(p, in, weights, bias, relu, top, left(x), to + x * 16);
    const float* line = in + top * p.in_width * 16;
    for (; x + depthwise_tile <= middle.end; x += depthwise_tile)
      depthwise_positions<depthwise_tile>(p, line + left(x) * 16, weights, bias, relu, ky0, ky1,
                                          to + x * 16);
    for (; x + 2 <= middle.end; x += 2)
      depthwise_positions<2>(p, line + left(x) * 16, weights, bias, relu, ky0, ky1, to + x * 16);
    for (; x < p.out_width; ++x)
      depthwise_border(p, in, weights, bias, relu, top, left(x), to + x * 16);
  }
}

// Inputs that are `stride` apart see the same taps and adjacent outputs: for n such inputs, the sum
// over kx = first, first + stride, … and over the rows likewise.
template <int n>
inline void depthwise_data_positions(DepthwisePlane p, const float* gradient, const float* weights,
                                     std::int64_t y, std::int64_t x, float* to) {
  const std::int64_t first_kx = (x + p.pad_left) % p.stride_width;
  for (int v = 0; v < 16; v += lanes) {
    vec sum[n];
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t) sum[t] = vec{};
    for (std::int64_t ky = (y + p.pad_top) % p.stride_height; ky < p.kernel_height;
         ky += p.stride_height) {
      const std::int64_t oy = (y + p.pad_top - ky) / p.stride_height;
      if (y + p.pad_top < ky || oy >= p.out_height) continue;
      for (std::int64_t kx = first_kx; kx < p.kernel_width; kx += p.stride_width) {
        const std::int64_t ox = (x + p.pad_left - kx) / p.stride_width;
        const float* g = gradient + (oy * p.out_width + ox) * 16 + v;
        if constexpr (n == 1)
          if (x + p.pad_left < kx || ox >= p.out_width) continue;
        const vec tap = load(weights + (ky * p.kernel_width + kx) * 16 + v);
#pragma GCC unroll 8
        for (int t = 0; t < n; ++t) sum[t] += tap * load(g + t * 16);
      }
    }
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t) store(to + t * p.stride_width * 16 + v, sum[t]);
  }
}

void depthwise_data(const DepthwisePlane& given, const float* gradient, const float* weights,
                    float* to) {
  const DepthwisePlane p = given;
  const std::int64_t s = p.stride_width;
  for (std::int64_t y = 0; y < p.in_height; ++y)
    for (std::int64_t phase = 0; phase < s && phase < p.in_width; ++phase) {
      // Inputs from `begin` up to `end` have all of the phase's taps inside the output.
      const std::int64_t first = (phase + p.pad_left) % s;
      const std::int64_t last = first + (p.kernel_width - 1 - first) / s * s;
      const std::int64_t begin = p.kernel_width > first ? at_least(0, last - p.pad_left) : 0;
      const std::int64_t end =
          p.kernel_width > first
              ? at_most(p.in_width, (p.out_width - 1) * s + first - p.pad_left + 1)
              : p.in_width;
      float* line = to + y * p.in_width * 16;
      std::int64_t x = phase;
      for (; x < p.in_width && x < begin; x += s)
        depthwise_data_positions<1>(p, gradient, weights, y, x, line + x * 16);
      for (; x + (depthwise_tile - 1) * s < end; x += depthwise_tile * s)
        depthwise_data_positions<depthwise_tile>(p, gradient, weights, y, x, line + x * 16);
      for (; x < p.in_width; x += s)
        depthwise_data_positions<1>(p, gradient, weights, y, x, line + x * 16);
    }
}

// Sums of one row of outputs for taps [kx, kx + n): four positions at a time, so that no sum waits
// for the previous one.
template <int n>
inline void depthwise_weight_line(DepthwisePlane p, const float* in, const float* gradient,
                                  std::int64_t begin, std::int64_t end, float* weights) {
  for (int v = 0; v < 16; v += lanes) {
    constexpr int apart = n > 2 || lanes < 16 ? 2 : 4;
    vec sum[apart][n];
#pragma GCC unroll 4
    for (int a = 0; a < apart; ++a)
#pragma GCC unroll 8
      for (int k = 0; k < n; ++k) sum[a][k] = vec{};
    std::int64_t x = begin;
    for (; x + apart <= end; x += apart)
#pragma GCC unroll 4
      for (int a = 0; a < apart; ++a) {
        const vec g = load(gradient + (x + a) * 16 + v);
        const float* from = in + ((x + a) * p.stride_width - p.pad_left) * 16 + v;
#pragma GCC unroll 8
        for (int k = 0; k < n; ++k) sum[a][k] += g * load(from + k * 16);
      }
    for (; x < end; ++x) {
      const vec g = load(gradient + x * 16 + v);
      const float* from = in + (x * p.stride_width - p.pad_left) * 16 + v;
#pragma GCC unroll 8
      for (int k = 0; k < n; ++k) sum[0][k] += g * load(from + k * 16);
    }
#pragma GCC unroll 8
    for (int k = 0; k < n; ++k) {
      vec total = load(weights + k * 16 + v);
#pragma GCC unroll 4
      for (int a = 0; a < apart; ++a) total += sum[a][k];
      store(weights + k * 16 + v, total);
    }
  }
}

void depthwise_weights(const DepthwisePlane& given, const float* in, const float* gradient,
                       float* weights, float* bias) {
  const DepthwisePlane p = given;
  const Inside middle = inside(p.in_width, p.out_width, p.kernel_width, p.stride_width, p.pad_left);
  for (std::int64_t y = 0; y < p.out_height; ++y) {
    const std::int64_t top = y * p.stride_height - p.pad_top;
    const float* g = gradient + y * p.out_width * 16;
    for (std::int64_t ky = at_least(0, -top); ky < at_most(p.kernel_height, p.in_height - top);
         ++ky) {
      const float* line = in + (top + ky) * p.in_width * 16;
      float* w = weights + ky * p.kernel_width * 16;
      std::int64_t kx = 0;
      for (; kx + 5 <= p.kernel_width && p.kernel_width != 6; kx += 5)
        depthwise_weight_line<5>(p, line + kx * 16, g, middle.begin, middle.end, w + kx * 16);
      for (; kx + 3 <= p.kernel_width; kx += 3)
        depthwise_weight_line<3>(p, line + kx * 16, g, middle.begin, middle.end, w + kx * 16);
      for (; kx < p.kernel_width; ++kx)
        depthwise_weight_line<1>(p, line + kx * 16, g, middle.begin, middle.end, w + kx * 16);
      for (std::int64_t x = 0; x < p.out_width; ++x) {
        if (x == middle.begin) x = middle.end;
        if (x >= p.out_width) break;
        const std::int64_t left = x * p.stride_width - p.pad_left;
        for (kx = at_least(0, -left); kx < at_most(p.kernel_width, p.in_width - left); ++kx)
          for (int v = 0; v < 16; v += lanes)
            store(w + kx * 16 + v,
                  load(w + kx * 16 + v) + load(g + x * 16 + v) * load(line + (left + kx) * 16 + v));
      }
    }
    for (int v = 0; bias && v < 16; v += lanes) {
      vec sum{};
      for (std::int64_t x = 0; x < p.out_width; ++x) sum += load(g + x * 16 + v);
      store(bias + v, load(bias + v) + sum);
    }
  }
}
