// Products that skip zeros: after ReLU and dropout three quarters of a dense layer's inputs are
// zero, and as many of the gradients before them. A register tile shares each row of B among
// several rows of A and cannot skip. Here a row of A lists its nonzero elements of a block, and
// only their rows of B are read, from the L1 cache. An element is what a lane multiplies at once: a
// float, or a pair in bf16, which is skipped if both its numbers are zero. The sums keep their
// order, and adding a zero changes none, so the results are the dense product's bit for bit.
// Included by the AVX-512 kernels: other instruction sets cannot compress a register.

constexpr std::int64_t block_depth = 96;  // elements of B: 24 KiB of the L1 cache for a panel

template <class Operand>
inline __m512i load_elements(const Operand* x) {
  return _mm512_loadu_si512(x);
}

// The elements of a block of a row that are not zero, and where they are.
template <class Math>
struct Nonzeros {
  using Operand = typename Math::Operand;
  alignas(64) Operand values[(block_depth + 2 * unit) * Math::together];
  alignas(64) std::int32_t places[block_depth + 2 * unit];
  std::int64_t count = 0;

  void list(const Operand* x, std::int64_t elements) {
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < elements; i += 16) {
      const __m512i all = load_elements(x + i * Math::together);
      const __mmask16 some = Math::nonzero(all);
      const __m512i places_of_all = _mm512_add_epi32(first, _mm512_set1_epi32(static_cast<int>(i)));
      // By way of registers: a compressing store is slow on AMD's CPUs.
      _mm512_storeu_si512(values + found * Math::together,
                          _mm512_maskz_compress_epi32(some, all));
      _mm512_storeu_si512(places + found, _mm512_maskz_compress_epi32(some, places_of_all));
      found += __builtin_popcount(some);
    }
    count = found;
  }
  // Appends zeros, as if they were elements of place 0.
  void pad(std::int64_t to) {
    do {
      _mm512_storeu_si512(values + count * Math::together, _mm512_setzero_si512());
      _mm512_storeu_si512(places + count, _mm512_setzero_si512());
      count += 16;
    } while (count < to);
  }
};

// Lists some rows of A, `stride` apart, to the same length, a multiple of four, which it returns.
template <class Math, int listed>
inline std::int64_t list_rows(const typename Math::Operand* a, std::int64_t stride,
                              std::int64_t elements, Nonzeros<Math> (&of)[listed]) {
  std::int64_t longest = 0;
  for (int row = 0; row < listed; ++row) {
    of[row].list(a + row * stride, elements);
    longest = of[row].count > longest ? of[row].count : longest;
  }
  longest = (longest + 3) / 4 * 4;
  for (Nonzeros<Math>& one : of) one.pad(longest);
  return longest;
}

// sum[row] += Σ values of the row's list · rows of a panel.
template <class Math, int listed>
inline void add_rows(const Nonzeros<Math> (&of)[listed], std::int64_t count,
                     const typename Math::Operand* rows, std::int64_t stride,
                     vec (&sum)[listed][4]) {
  constexpr int together = Math::together;
  constexpr int unrolled = 4 / listed;
  for (std::int64_t i = 0; i < count; i += unrolled)
#pragma GCC unroll 4
    for (int j = 0; j < unrolled; ++j)
#pragma GCC unroll 2
      for (int row = 0; row < listed; ++row) {
        const vec value = Math::spread(of[row].values + (i + j) * together);
        const typename Math::Operand* b = rows + of[row].places[i + j] * stride;
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
          sum[row][v] =
              Math::add_product(sum[row][v], value, Math::read(b + v * lanes * together));
      }
}

template <class Math>
inline std::int64_t count_nonzeros(const typename Math::Operand* x, std::int64_t elements) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < elements; i += 16)
    found += __builtin_popcount(Math::nonzero(load_elements(x + i * Math::together)));
  return found;
}

// Whether at most `percent` of a matrix are not zero, judged by a few rows.
template <class Math>
inline bool is_sparse(const typename Math::Operand* x, std::int64_t stride, std::int64_t rows,
                      std::int64_t elements, std::int64_t percent) {
  constexpr std::int64_t probes = 4;
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < probes; ++i)
    found += count_nonzeros<Math>(x + i * (rows - 1) / (probes - 1) * stride, elements);
  return 100 * found <= percent * probes * elements;
}

// Math::sparse_percent and sparse_percent_of_outer are where skipping is as fast as not: listing
// elements and the ends of loops have their cost. With half of A zero an Intel CPU (Sapphire Rapids
// class) has 0.92 times the speed of the dense product in fp32 and 0.8 times that of a weight
// gradient, an AMD CPU (Zen 4) 1.2 and 1.05; with three quarters 1.5 and 1.14, 2.0 and 1.3. In bf16
// three quarters of zeros are 56% of pairs: 1.27 and 1.05 (Zen 4).

template <class Math>
inline bool multiplies_nonzeros(const Product<typename Math::Operand>& m) {
  constexpr std::int64_t together = Math::together;
  return m.width == panel && m.rows > 2 * tile_rows<4> && m.segments == 1 &&
         m.run >= 2 * unit * together && m.run % (unit * together) == 0 &&
         m.c_unit_stride == unit && !m.row_offsets && !m.segment_offsets && !m.c_row_offsets &&
         is_sparse<Math>(m.a, m.row_stride, m.rows, m.run / together, Math::sparse_percent);
}

// Elements [first, end) of `listed` rows of A and their rows of B.
template <class Math, int listed>
__attribute__((always_inline)) inline void multiply_listed(Product<typename Math::Operand> m,
                                                           std::int64_t row, std::int64_t first,
                                                           std::int64_t end,
                                                           Nonzeros<Math> (&nonzeros)[listed]) {
  constexpr std::int64_t together = Math::together;
  const bool begins = first == 0 && !m.adds, ends = end * together >= m.run;
  const typename Math::Operand* a = m.a + row * m.row_stride + first * together;
  float* c = m.c + row * m.c_row_stride;
  // Rows are far apart: the hardware prefetcher does not expect the next ones.
  for (int i = 2; i < 2 + listed; ++i) {
    for (std::int64_t k = 0; k < end - first; k += unit)
      __builtin_prefetch(a + i * m.row_stride + k * together);
    for (int v = 0; v < 4; ++v) __builtin_prefetch(c + i * m.c_row_stride + v * lanes);
  }
  const std::int64_t count = list_rows<Math>(a, m.row_stride, end - first, nonzeros);
  vec sum[listed][4];
#pragma GCC unroll 2
  for (int i = 0; i < listed; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      sum[i][v] = !begins  ? load(c + i * m.c_row_stride + v * lanes)
                  : m.bias ? load(m.bias + v * lanes)
                           : vec{};
  add_rows<Math>(nonzeros, count, m.b + first * panel * together, panel * together, sum);
#pragma GCC unroll 2
  for (int i = 0; i < listed; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      store(c + i * m.c_row_stride + v * lanes,
            m.relu && ends ? positive_part(sum[i][v]) : sum[i][v]);
}

template <class Math>
void multiply_nonzeros(Product<typename Math::Operand> m) {
  constexpr int listed = Math::listed;
  const std::int64_t elements = m.run / Math::together;
  Nonzeros<Math> nonzeros[listed], last[1];
  for (std::int64_t k = 0; k < elements; k += block_depth) {
    const std::int64_t end = elements - k < block_depth ? elements : k + block_depth;
    std::int64_t r = 0;
    for (; r + listed <= m.rows; r += listed)
      multiply_listed<Math, listed>(m, r, k, end, nonzeros);
    if constexpr (listed > 1)
      for (; r < m.rows; ++r) multiply_listed<Math, 1>(m, r, k, end, last);
  }
}

template <class Math>
inline bool outer_of_nonzeros(const OuterProduct<typename Math::Operand>& o) {
  return o.width == panel && o.rows >= 2 * unit && o.depth % unit == 0 &&
         o.g_unit_stride == unit * Math::together && !o.row_offsets &&
         is_sparse<Math>(o.a, o.row_stride, o.rows, o.depth, Math::sparse_percent_of_outer);
}

// Lists the nonzero elements of columns of A, two at a time: faster on Intel's CPUs, where the sums
// of one are too few for the latency of its additions.
template <class Math>
void outer_nonzeros(OuterProduct<typename Math::Operand> o) {
  constexpr int listed = 2;
  constexpr std::int64_t together = Math::together;
  Nonzeros<Math> nonzeros[listed];
  for (std::int64_t first = 0; first < o.rows; first += block_depth) {
    const std::int64_t rows = o.rows - first < block_depth ? o.rows - first : block_depth;
    const std::int64_t rows_in_units = (rows + unit - 1) / unit * unit;
    const bool begins = first == 0 && !o.accumulate;
    for (std::int64_t k = 0; k < o.depth; k += unit) {
      alignas(64) typename Math::Operand columns[unit][block_depth * together];
      for (std::int64_t r = 0; r < rows; r += unit) {
        __m512 tile[unit];
#pragma GCC unroll 16
        for (int i = 0; i < unit; ++i)
          tile[i] = r + i < rows
                        ? _mm512_loadu_ps(o.a + (first + r + i) * o.row_stride + k * together)
                        : _mm512_setzero_ps();
        transpose_registers(tile);
#pragma GCC unroll 16
        for (int i = 0; i < unit; ++i) _mm512_store_ps(columns[i] + r * together, tile[i]);
      }
      for (int i = 0; i < unit; i += listed) {
        const std::int64_t count =
            list_rows<Math>(columns[i], block_depth * together, rows_in_units, nonzeros);
        float* d = o.d + (k + i) * panel;
        vec sum[listed][4];
#pragma GCC unroll 2
        for (int row = 0; row < listed; ++row)
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v)
            sum[row][v] = begins ? vec{} : load(d + row * panel + v * lanes);
        add_rows<Math>(nonzeros, count, o.g + first * o.g_row_stride, o.g_row_stride, sum);
#pragma GCC unroll 2
        for (int row = 0; row < listed; ++row)
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v) store(d + row * panel + v * lanes, sum[row][v]);
      }
    }
  }
}
