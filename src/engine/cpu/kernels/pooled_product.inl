// A convolution whose windows of 2×2 positions are pooled while their sums are in registers. Stored
// first and pooled later, the sums of a few windows pass through all of the L1 cache's lines, and
// loads of the next products wait for those stores in some executors, depending on where their
// memory lies: 10% of a convolution's time, next to the sixth that pooling took.

template <int windows, int n>
inline void pooled_tile(PooledProduct p, std::int64_t first, std::int64_t column) {
  constexpr int rows = pooled_slots * windows;
  const float* a[rows];
  vec sum[rows][n];
#pragma GCC unroll 24
  for (int r = 0; r < rows; ++r) a[r] = p.product.a + p.product.row_offsets[pooled_slots * first + r];
#pragma GCC unroll 24
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v)
      sum[r][v] = p.product.bias ? load(p.product.bias + column + v * lanes) : vec{};
  add_products<Single>(p.product, {0, p.product.segments, 0, p.product.run, true, true}, column, a,
                       sum);
#pragma GCC unroll 8
  for (int w = 0; w < windows; ++w)
#pragma GCC unroll 4
    for (int v = 0; v < n; ++v) {
      Best best{sum[pooled_slots * w][v], {}};
#pragma GCC unroll 4
      for (int s = 1; s < pooled_slots; ++s) best.compare(sum[pooled_slots * w + s][v], s);
      const std::int64_t at = column + v * lanes,
                         to = at / 16 * p.unit_stride + (first + w) * 16 + at % 16;
      best.finish(p.product.relu, p.out + to, p.winner + to);
    }
}

template <int n>
void pooled_columns(const PooledProduct& p, std::int64_t column) {
  constexpr int windows = 3;  // twelve rows: enough sums for the latency of multiply-adds
  std::int64_t w = 0;
  for (; w + windows <= p.windows; w += windows) pooled_tile<windows, n>(p, w, column);
  if (p.windows - w == 2) pooled_tile<2, n>(p, w, column);
  if (p.windows - w == 1) pooled_tile<1, n>(p, w, column);
}

void multiply_pooled(const PooledProduct& p) {
  constexpr int together = registers == 32 ? 2 : 1;  // 24 or 12 sums
  std::int64_t column = 0;
  for (; column + together * lanes <= p.product.width; column += together * lanes)
    pooled_columns<together>(p, column);
  if (column < p.product.width) pooled_columns<1>(p, column);
}
