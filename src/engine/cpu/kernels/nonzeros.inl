// Products that skip zeros: after ReLU and dropout three quarters of a dense layer's inputs are
// zero, and as many of the gradients before them. A register tile shares each row of B among
// several rows of A and cannot skip. Here a row of A lists its nonzero elements of a block, and
// only their rows of B are read, from the L1 cache. The sums keep their order, and adding a zero
// changes none, so the results are the dense product's bit for bit. Included by the AVX-512
// kernels: other instruction sets cannot compress a register.

constexpr std::int64_t block_depth = 96;  // of B: 24 KiB of the L1 cache for a panel

// The elements of a block of a row that are not zero, and where they are.
struct Nonzeros {
  alignas(64) float values[block_depth + 2 * unit];
  alignas(64) std::int32_t places[block_depth + 2 * unit];
  std::int64_t count = 0;

  void list(const float* x, std::int64_t elements) {
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < elements; i += 16) {
      const __m512 all = _mm512_loadu_ps(x + i);
      const __mmask16 some = _mm512_cmp_ps_mask(all, _mm512_setzero_ps(), _CMP_NEQ_UQ);
      const __m512i places_of_all = _mm512_add_epi32(first, _mm512_set1_epi32(static_cast<int>(i)));
      // By way of registers: a compressing store is slow on AMD's CPUs.
      _mm512_storeu_ps(values + found, _mm512_maskz_compress_ps(some, all));
      _mm512_storeu_si512(places + found, _mm512_maskz_compress_epi32(some, places_of_all));
      found += __builtin_popcount(some);
    }
    count = found;
  }
  // Appends zeros, as if they were elements of place 0.
  void pad(std::int64_t to) {
    do {
      _mm512_storeu_ps(values + count, _mm512_setzero_ps());
      _mm512_storeu_si512(places + count, _mm512_setzero_si512());
      count += 16;
    } while (count < to);
  }
};

// Lists some rows of A, `stride` apart, to the same length, a multiple of four, which it returns.
template <int listed>
inline std::int64_t list_rows(const float* a, std::int64_t stride, std::int64_t elements,
                              Nonzeros (&of)[listed]) {
  std::int64_t longest = 0;
  for (int row = 0; row < listed; ++row) {
    of[row].list(a + row * stride, elements);
    longest = of[row].count > longest ? of[row].count : longest;
  }
  longest = (longest + 3) / 4 * 4;
  for (Nonzeros& one : of) one.pad(longest);
  return longest;
}

// sum[row] += Σ values of the row's list · rows of a panel.
template <int listed>
inline void add_rows(const Nonzeros (&of)[listed], std::int64_t count, const float* rows,
                     std::int64_t stride, vec (&sum)[listed][4]) {
  constexpr int unrolled = 4 / listed;
  for (std::int64_t i = 0; i < count; i += unrolled)
#pragma GCC unroll 4
    for (int j = 0; j < unrolled; ++j)
#pragma GCC unroll 2
      for (int row = 0; row < listed; ++row) {
        const vec value = broadcast(of[row].values[i + j]);
        const float* b = rows + of[row].places[i + j] * stride;
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sum[row][v] += value * load(b + v * lanes);
      }
}

inline std::int64_t count_nonzeros(const float* x, std::int64_t elements) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < elements; i += 16)
    found += __builtin_popcount(
        _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), _mm512_setzero_ps(), _CMP_NEQ_UQ));
  return found;
}

// Whether at most `percent` of a matrix are not zero, judged by a few rows.
inline bool is_sparse(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t elements,
                      std::int64_t percent) {
  constexpr std::int64_t probes = 4;
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < probes; ++i)
    found += count_nonzeros(x + i * (rows - 1) / (probes - 1) * stride, elements);
  return 100 * found <= percent * probes * elements;
}

// Where skipping is as fast as not: listing elements and the ends of loops have their cost. With
// half of A zero an Intel CPU (Sapphire Rapids class) has 0.92 times the speed of the dense product
// and 0.8 times that of a weight gradient, an AMD CPU (Zen 4) 1.2 and 1.05; with three quarters
// 1.5 and 1.14, 2.0 and 1.3.
constexpr std::int64_t sparse_percent = 43, sparse_percent_of_outer = 36;

inline bool multiplies_nonzeros(const Multiply& m) {
  return m.width == panel && m.rows > 2 * tile_rows<4> && m.segments == 1 && m.run >= 2 * unit &&
         m.run % unit == 0 && m.c_unit_stride == unit && !m.row_offsets && !m.segment_offsets &&
         !m.c_row_offsets && is_sparse(m.a, m.row_stride, m.rows, m.run, sparse_percent);
}

void multiply_nonzeros(Multiply m) {
  Nonzeros nonzeros[1];
  for (std::int64_t k = 0; k < m.run; k += block_depth) {
    const std::int64_t depth = m.run - k < block_depth ? m.run - k : block_depth;
    const bool begins = k == 0 && !m.adds, ends = k + depth >= m.run;
    for (std::int64_t r = 0; r < m.rows; ++r) {
      const float* a = m.a + r * m.row_stride + k;
      float* c = m.c + r * m.c_row_stride;
      // Rows are far apart: the hardware prefetcher does not expect the next ones.
      for (std::int64_t i = 0; i < depth; i += unit) __builtin_prefetch(a + 2 * m.row_stride + i);
      for (int v = 0; v < 4; ++v) __builtin_prefetch(c + 2 * m.c_row_stride + v * lanes);
      const std::int64_t count = list_rows(a, 0, depth, nonzeros);
      vec sum[1][4];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v)
        sum[0][v] = !begins ? load(c + v * lanes) : m.bias ? load(m.bias + v * lanes) : vec{};
      add_rows(nonzeros, count, m.b + k * panel, panel, sum);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v)
        store(c + v * lanes, m.relu && ends ? positive_part(sum[0][v]) : sum[0][v]);
    }
  }
}

inline bool outer_of_nonzeros(const Outer& o) {
  return o.width == panel && o.rows >= 2 * unit && o.depth % unit == 0 && o.g_unit_stride == unit &&
         !o.row_offsets && is_sparse(o.a, o.row_stride, o.rows, o.depth, sparse_percent_of_outer);
}

// Lists the nonzero elements of columns of A, two at a time: faster on Intel's CPUs, where the sums
// of one are too few for the latency of its additions.
void outer_nonzeros(Outer o) {
  constexpr int listed = 2;
  Nonzeros nonzeros[listed];
  for (std::int64_t first = 0; first < o.rows; first += block_depth) {
    const std::int64_t rows = o.rows - first < block_depth ? o.rows - first : block_depth;
    const std::int64_t rows_in_units = (rows + unit - 1) / unit * unit;
    const bool begins = first == 0 && !o.accumulate;
    for (std::int64_t k = 0; k < o.depth; k += unit) {
      alignas(64) float columns[unit][block_depth];
      for (std::int64_t r = 0; r < rows; r += unit) {
        __m512 tile[unit];
#pragma GCC unroll 16
        for (int i = 0; i < unit; ++i)
          tile[i] = r + i < rows ? _mm512_loadu_ps(o.a + (first + r + i) * o.row_stride + k)
                                 : _mm512_setzero_ps();
        transpose_registers(tile);
#pragma GCC unroll 16
        for (int i = 0; i < unit; ++i) _mm512_store_ps(columns[i] + r, tile[i]);
      }
      for (int i = 0; i < unit; i += listed) {
        const std::int64_t count = list_rows(columns[i], block_depth, rows_in_units, nonzeros);
        float* d = o.d + (k + i) * panel;
        vec sum[listed][4];
#pragma GCC unroll 2
        for (int row = 0; row < listed; ++row)
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v)
            sum[row][v] = begins ? vec{} : load(d + row * panel + v * lanes);
        add_rows(nonzeros, count, o.g + first * o.g_row_stride, o.g_row_stride, sum);
#pragma GCC unroll 2
        for (int row = 0; row < listed; ++row)
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v) store(d + row * panel + v * lanes, sum[row][v]);
      }
    }
  }
}
