// The two dense matrix products, over the operands of `Math`: how many are multiplied and added per
// lane, how one side is broadcast and the other loaded, and the multiply-add itself. Included by
// the kernels of each instruction set.

// Rows of A that are multiplied at once, for a panel of `units` units: as many accumulators as the
// register file holds next to the operands (24 of 32 for AVX-512 and NEON, 12 of 16 for AVX2, 8 of
// 16 for SSE).
template <int units>
constexpr int tile_rows = lanes == 4 && registers == 16 ? 2
                                                        : registers * 3 / 4 / (vectors * units);

// Rows of B that are multiplied with every row of A before the next ones, so that they are read
// from the L1 cache: segments [first, end), elements [from, to) of each.
struct Block {
  std::int64_t first, end, from, to;
  bool begins, ends;  // the sums
};

// Adds products to the sums of rows whose first elements `a` points to, for n registers of columns.
template <class Math, int rows, int n>
[[gnu::always_inline]] inline void add_products(const Product<typename Math::Operand>& m,
                                                const Block& block, std::int64_t column,
                                                const typename Math::Operand* const (&a)[rows],
                                                vec (&sum)[rows][n]) {
  constexpr int together = Math::together;
  const std::int64_t b_rows = (m.run + together - 1) / together, b_stride = m.width * together;
  const std::int64_t skipped = m.skipped * b_stride;
  const typename Math::Operand* b =
      m.b + column * together + (block.first * b_rows + block.from / together) * b_stride +
      block.first * skipped;
  for (std::int64_t s = block.first; s < block.end; ++s) {
    const std::int64_t offset = m.segment_offsets ? m.segment_offsets[s] : 0;
    // Of the next block: a dense layer has more rows than the hardware prefetcher follows.
    if (!block.ends && !m.segment_offsets)
      for (int r = 0; r < rows; ++r)
        for (std::int64_t j = block.to; j < 2 * block.to - block.from; j += 16 * together)
          __builtin_prefetch(a[r] + j);
    for (std::int64_t j = offset + block.from; j < offset + block.to;
         j += together, b += b_stride) {
      vec column_values[n];
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) column_values[v] = Math::read(b + v * lanes * together);
#pragma GCC unroll 24
      for (int r = 0; r < rows; ++r) {
        const vec x = Math::spread(a[r] + j);
#pragma GCC unroll 16
        for (int v = 0; v < n; ++v) sum[r][v] = Math::add_product(sum[r][v], x, column_values[v]);
      }
    }
    b += skipped;
  }
}

template <class Math, int rows, int units>
inline void multiply_tile(Product<typename Math::Operand> m, Block block, std::int64_t first,
                          std::int64_t column) {
  constexpr int n = units * vectors;
  const typename Math::Operand* a[rows];
  float* c[rows];
  vec sum[rows][n];
#pragma GCC unroll 24
  for (int r = 0; r < rows; ++r) {
    a[r] = m.a + (m.row_offsets ? m.row_offsets[first + r] : (first + r) * m.row_stride);
    c[r] = m.c + column / 16 * m.c_unit_stride +
           (m.c_row_offsets ? m.c_row_offsets[first + r] : (first + r) * m.c_row_stride);
  }
  if (block.begins) {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) sum[r][v] = m.bias ? load(m.bias + column + v * lanes) : vec{};
  } else {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v)
        sum[r][v] = load(c[r] + v / vectors * m.c_unit_stride + v % vectors * lanes);
  }
  add_products<Math>(m, block, column, a, sum);
  if (m.relu && block.ends)
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) sum[r][v] = positive_part(sum[r][v]);
#pragma GCC unroll 24
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v)
      store(c[r] + v / vectors * m.c_unit_stride + v % vectors * lanes, sum[r][v]);
}

template <class Math, int units, int rows = tile_rows<units>>
inline void multiply_tail(const Product<typename Math::Operand>& m, const Block& block,
                          std::int64_t first, std::int64_t column) {
  if constexpr (rows > 0) {
    if (m.rows - first == rows)
      multiply_tile<Math, rows, units>(m, block, first, column);
    else
      multiply_tail<Math, units, rows - 1>(m, block, first, column);
  }
}

template <class Math, int units>
void multiply_block(const Product<typename Math::Operand>& m, const Block& block,
                    std::int64_t column) {
  std::int64_t r = 0;
  for (; r + tile_rows<units> <= m.rows; r += tile_rows<units>)
    multiply_tile<Math, tile_rows<units>, units>(m, block, r, column);
  multiply_tail<Math, units>(m, block, r, column);
}

template <class Math, int units>
void multiply_units(const Product<typename Math::Operand>& m, std::int64_t column) {
  // 24 KiB: half of an L1 cache. Few rows read B once or twice anyway. A dense layer's B comes from
  // the L2 cache in time, and longer blocks load and store C less often.
  const std::int64_t floats = m.segments == 1 ? 32768 : 6144;
  const std::int64_t depth =
      m.rows > 2 * tile_rows<units> ? floats / m.width * Math::together : m.segments * m.run;
  if (m.segments * m.run <= 2 * depth)
    return multiply_block<Math, units>(m, {0, m.segments, 0, m.run, !m.adds, true}, column);
  if (m.segments == 1) {
    for (std::int64_t j = 0; j < m.run; j += depth)
      multiply_block<Math, units>(
          m, {0, 1, j, j + depth < m.run ? j + depth : m.run, j == 0 && !m.adds, j + depth >= m.run}, column);
    return;
  }
  const std::int64_t step = m.run >= depth ? 1 : depth / m.run;
  for (std::int64_t s = 0; s < m.segments; s += step)
    multiply_block<Math, units>(m,
                                {s, s + step < m.segments ? s + step : m.segments, 0, m.run,
                                 s == 0 && !m.adds,
                                 s + step >= m.segments},
                                column);
}

template <class Math>
void multiply_any(const Product<typename Math::Operand>& m) {
  if constexpr (lanes == 16) {
    switch (m.width / unit) {
      case 1:
        return multiply_units<Math, 1>(m, 0);
      case 2:
        return multiply_units<Math, 2>(m, 0);
      case 3:
        return multiply_units<Math, 3>(m, 0);
      default:
        return multiply_units<Math, 4>(m, 0);
    }
  } else {
    for (std::int64_t column = 0; column < m.width; column += unit)
      multiply_units<Math, 1>(m, column);
  }
}

// `packed`: operands that are contiguous, in the L2 cache.
template <class Math, int depth, int units, bool packed = false>
inline void outer_tile(OuterProduct<typename Math::Operand> o, std::int64_t k,
                       std::int64_t column) {
  constexpr int n = units * vectors, together = Math::together;
  vec sum[depth][n];
#pragma GCC unroll 24
  for (int i = 0; i < depth; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v)
      sum[i][v] = o.accumulate ? load(o.d + (k + i) * o.width + column + v * lanes) : vec{};
  const typename Math::Operand* g = o.g + column / 16 * o.g_unit_stride;
  // The first tiles fetch a line of each of the next rows.
  const std::int64_t line = k / depth * 16;
  const bool fetches = packed && o.next && line < o.depth;
  const typename Math::Operand* next = fetches ? o.next + line : g;
  const std::int64_t next_stride = fetches ? o.next_stride : o.g_row_stride;
  for (std::int64_t r = 0; r < o.rows; ++r, g += o.g_row_stride, next += next_stride) {
    const typename Math::Operand* a =
        o.a + (o.row_offsets ? o.row_offsets[r] : r * o.row_stride) + k * together;
    if constexpr (packed) {
      __builtin_prefetch(next, 0, 2);
#pragma GCC unroll 4
      for (int u = 0; u < units; ++u)
        __builtin_prefetch(g + 4 * o.g_row_stride + u * o.g_unit_stride);
    } else {
      // A dense layer's rows are far apart: the hardware prefetcher misses that the next tiles need
      // what follows in each.
      __builtin_prefetch(a + 2 * depth * together);
    }
    vec row[n];
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v)
      row[v] = Math::read(g + v / vectors * o.g_unit_stride + v % vectors * lanes * together);
#pragma GCC unroll 24
    for (int i = 0; i < depth; ++i) {
      const vec x = Math::spread(a + i * together);
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) sum[i][v] = Math::add_product(sum[i][v], x, row[v]);
    }
  }
  float* d = o.d + k * o.width + column;
#pragma GCC unroll 24
  for (int i = 0; i < depth; ++i, d += o.width)
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v) store(d + v * lanes, sum[i][v]);
}

template <class Math, int units, int depth = tile_rows<units>>
inline void outer_tail(const OuterProduct<typename Math::Operand>& o, std::int64_t k,
                       std::int64_t column) {
  if constexpr (depth > 0) {
    if (o.depth - k == depth)
      outer_tile<Math, depth, units>(o, k, column);
    else
      outer_tail<Math, units, depth - 1>(o, k, column);
  }
}

template <class Math, int units>
void outer_units(const OuterProduct<typename Math::Operand>& o, std::int64_t column) {
  std::int64_t k = 0;
  for (; k + tile_rows<units> <= o.depth; k += tile_rows<units>)
    if (units * 16 == panel && o.packed)
      outer_tile<Math, tile_rows<units>, units, units * 16 == panel>(o, k, column);
    else
      outer_tile<Math, tile_rows<units>, units>(o, k, column);
  outer_tail<Math, units>(o, k, column);
}

template <class Math>
void outer_any(const OuterProduct<typename Math::Operand>& o) {
  if constexpr (lanes == 16) {
    switch (o.width / unit) {
      case 1:
        return outer_units<Math, 1>(o, 0);
      case 2:
        return outer_units<Math, 2>(o, 0);
      case 3:
        return outer_units<Math, 3>(o, 0);
      default:
        return outer_units<Math, 4>(o, 0);
    }
  } else {
    for (std::int64_t column = 0; column < o.width; column += unit) outer_units<Math, 1>(o, column);
  }
}

template <class Operand>
inline Product<Operand> second_panel(Product<Operand> m, SecondPanel at) {
  m.b += at.operand, m.c += at.result;
  m.bias = m.bias ? m.bias + panel : nullptr;
  return m;
}
// The second one fetches the next inputs.
template <class Operand>
inline OuterProduct<Operand> first_panel(OuterProduct<Operand> o) {
  o.next = nullptr;
  return o;
}
template <class Operand>
inline OuterProduct<Operand> second_panel(OuterProduct<Operand> o, SecondPanel at) {
  o.g += at.operand, o.d += at.result;
  return o;
}
