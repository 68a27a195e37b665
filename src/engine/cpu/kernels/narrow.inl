// A product with few columns: the end of a classifier, or any layer of few units. In a panel of
// columns a part of a register would be padding, and each input would be loaded for itself; here a
// register holds inputs of a row, which are contiguous, and each output has a register of partial
// sums. Included by kernels.inl.

// As much of the depth as has its weights in half of the L1 cache.
struct NarrowBlock {
  std::int64_t begin, end;
  bool begins, ends;  // the sums
};

#if SWEETSPOT_LANES == 16
// total[i] = Σ sums[i]: the registers are added as columns.
inline vec totals(vec (&sums)[16]) {
  transpose_registers(sums);
#pragma GCC unroll 4
  for (int apart = 8; apart > 0; apart /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < apart; ++i) sums[i] += sums[i + apart];
  return sums[0];
}
#endif

// Outputs [first, first + outputs) of some rows, from a block of the depth.
template <int rows, int outputs>
inline void narrow_tile(Narrow p, std::int64_t r, std::int64_t first, NarrowBlock block) {
  vec sum[rows][outputs];
#pragma GCC unroll 8
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 16
    for (int o = 0; o < outputs; ++o) sum[row][o] = vec{};
  const float* a = p.a + r * p.row_stride;
  for (std::int64_t column = block.begin; column < block.end; column += panel) {
    const std::int64_t width = p.depth - column < panel ? p.depth - column : panel;
    const float* b = p.b + column * unit + first * width;
    for (std::int64_t i = 0; i < width; i += lanes) {
      vec x[rows];
#pragma GCC unroll 8
      for (int row = 0; row < rows; ++row) x[row] = load(a + row * p.row_stride + column + i);
#pragma GCC unroll 16
      for (int o = 0; o < outputs; ++o) {
        const vec weights = load(b + o * width + i);
#pragma GCC unroll 8
        for (int row = 0; row < rows; ++row) sum[row][o] += x[row] * weights;
      }
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < rows; ++row) {
    float* c = p.c + (r + row) * p.c_row_stride;
#if SWEETSPOT_LANES == 16
    vec all[16];
#pragma GCC unroll 16
    for (int o = 0; o < 16; ++o) all[o] = o < outputs ? sum[row][o] : vec{};
    vec total = totals(all);
    total += !block.begins ? load(c) : p.bias ? load(p.bias) : vec{};
    store(c, p.relu && block.ends ? positive_part(total) : total);
#else
    for (int o = 0; o < outputs; ++o) {
      const float before = !block.begins ? c[first + o] : p.bias ? p.bias[first + o] : 0.f;
      const float total = lane_sum(sum[row][o]) + before;
      c[first + o] = p.relu && block.ends && total <= 0 ? 0.f : total;  // a NaN passes
    }
#endif
  }
}

// As many rows at once as the register file has accumulators for.
template <int outputs>
inline void narrow_rows(const Narrow& p, std::int64_t first) {
  constexpr int rows = lanes == 16 ? 24 / outputs : 2;
  constexpr std::int64_t depth = 6144 / outputs / panel * panel;
  for (std::int64_t k = 0; k < p.depth; k += depth) {
    const bool ends = k + depth >= p.depth;
    const NarrowBlock block{k, ends ? p.depth : k + depth, k == 0, ends};
    std::int64_t r = 0;
    for (; r + rows <= p.rows; r += rows) narrow_tile<rows, outputs>(p, r, first, block);
    for (; r < p.rows; ++r) narrow_tile<1, outputs>(p, r, first, block);
  }
}

void narrow(const Narrow& p) {
#if SWEETSPOT_LANES == 16
  if (p.outputs <= 4) return narrow_rows<4>(p, 0);
  if (p.outputs <= 8) return narrow_rows<8>(p, 0);
  narrow_rows<12>(p, 0);
#else
  for (std::int64_t first = 0; first < unit; first += 4) narrow_rows<4>(p, first);
#endif
}
