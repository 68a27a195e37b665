// A product of pairs with few operands per output, as of a first layer: pooling its sums in
// registers saves storing and loading them. Included by avx512bf16.cpp.

template <int windows, int units>
inline void multiply_windows(PooledPairs p, std::int64_t first) {
  constexpr int rows = 4 * windows;
  const Product<Bf16> m = p.product;
  const Bf16* a[rows];
  vec sum[windows][units][4];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) {
    a[r] = m.a + m.row_offsets[4 * first + r];
#pragma GCC unroll 2
    for (int v = 0; v < units; ++v)
      sum[r / 4][v][r % 4] = m.bias ? load(m.bias + v * 16) : vec{};
  }
  const Bf16* b = m.b;
  for (std::int64_t s = 0; s < m.segments; ++s) {
    const std::int64_t offset = m.segment_offsets[s];
    for (std::int64_t j = offset; j < offset + m.run; j += 2, b += 2 * m.width) {
      __m512i columns[units];
#pragma GCC unroll 2
      for (int v = 0; v < units; ++v) columns[v] = load_numbers(b + v * 32);
#pragma GCC unroll 12
      for (int r = 0; r < rows; ++r) {
        const __m512i x = spread_pair(a[r] + j);
#pragma GCC unroll 2
        for (int v = 0; v < units; ++v)
          sum[r / 4][v][r % 4] = add_pairs(sum[r / 4][v][r % 4], x, columns[v]);
      }
    }
  }
#pragma GCC unroll 3
  for (int w = 0; w < windows; ++w)
#pragma GCC unroll 2
    for (int v = 0; v < units; ++v) {
      const std::int64_t at = v * p.unit_stride + (first + w) * 16;
      Best best(sum[w][v][0]);
#pragma GCC unroll 3
      for (int s = 1; s < 4; ++s) best.meet(sum[w][v][s], s);
      if (m.relu) best.stop_negative();
      store(p.out + at, best.value);
      best.put_winner(p.winner + at);
    }
}

template <int units>
inline void multiply_all_windows(const PooledPairs& p) {
  const std::int64_t windows = p.product.rows / 4;
  std::int64_t w = 0;
  for (; w + 3 <= windows; w += 3) multiply_windows<3, units>(p, w);
  for (; w < windows; ++w) multiply_windows<1, units>(p, w);
}

void multiply_pooled_pairs(const PooledPairs& p) {
  p.product.width == 2 * unit ? multiply_all_windows<2>(p) : multiply_all_windows<1>(p);
}
