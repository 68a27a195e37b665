// Products that skip zeros: after ReLU and dropout half to three quarters of a dense layer's inputs
// are zero, and as many of the gradients before them. A register tile shares each row of B among
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

constexpr int listed = 1;  // rows at once: the sums of one are too few for the latency of the adds

// Lists some rows of A, `stride` apart, to the same length, a multiple of two, which it returns.
inline std::int64_t list_rows(const float* a, std::int64_t stride, std::int64_t elements,
                              Nonzeros (&of)[listed]) {
  std::int64_t longest = 0;
  for (int row = 0; row < listed; ++row) {
    of[row].list(a + row * stride, elements);
    longest = of[row].count > longest ? of[row].count : longest;
  }
  longest = (longest + 1) / 2 * 2;
  for (Nonzeros& one : of) one.pad(longest);
  return longest;
}

// sum[row] += Σ values of the row's list · rows of a panel.
inline void add_rows(const Nonzeros (&of)[listed], std::int64_t count, const float* rows,
                     std::int64_t stride, vec (&sum)[listed][4]) {
  for (std::int64_t i = 0; i < count; i += 2)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j)
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

// Whether skipping pays, judged by a few rows of a matrix: listing and the loops' ends cost as much
// as the products of some elements.
inline bool is_sparse(const float* x, std::int64_t stride, std::int64_t rows,
                      std::int64_t elements) {
  constexpr std::int64_t probes = 4;
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < probes; ++i)
    found += count_nonzeros(x + i * (rows - 1) / (probes - 1) * stride, elements);
  return 100 * found < 58 * probes * elements;
}

inline bool multiplies_nonzeros(const Multiply& m) {
  return m.width == panel && m.rows > 2 * tile_rows<4> && m.segments == 1 && m.run >= 2 * unit &&
         m.run % unit == 0 && m.c_unit_stride == unit && !m.row_offsets && !m.segment_offsets &&
         !m.c_row_offsets && is_sparse(m.a, m.row_stride, m.rows, m.run);
}

void multiply_nonzeros(Multiply m) {
  Nonzeros nonzeros[listed];
  for (std::int64_t k = 0; k < m.run; k += block_depth) {
    const std::int64_t depth = m.run - k < block_depth ? m.run - k : block_depth;
    const bool begins = k == 0 && !m.adds, ends = k + depth >= m.run;
    for (std::int64_t r = 0; r < m.rows; r += listed) {
      const float* a = m.a + r * m.row_stride + k;
      float* c = m.c + r * m.c_row_stride;
      // A last odd row is computed twice, alike.
      const std::int64_t a_stride = r < m.rows ? m.row_stride : 0;
      const std::int64_t c_stride = r < m.rows ? m.c_row_stride : 0;
      // Rows are far apart, and the hardware does not foresee them.
      for (int row = listed; row < 2 * listed; ++row) {
        for (std::int64_t i = 0; i < depth; i += 16)
          __builtin_prefetch(a + row * m.row_stride + i);
        for (int v = 0; v < 4; ++v) __builtin_prefetch(c + row * m.c_row_stride + v * lanes);
      }
      const std::int64_t count = list_rows(a, a_stride, depth, nonzeros);
      vec sum[listed][4];
#pragma GCC unroll 2
      for (int row = 0; row < listed; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
          sum[row][v] = !begins  ? load(c + row * c_stride + v * lanes)
                        : m.bias ? load(m.bias + v * lanes)
                                 : vec{};
      add_rows(nonzeros, count, m.b + k * panel, panel, sum);
#pragma GCC unroll 2
      for (int row = 0; row < listed; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
          store(c + row * c_stride + v * lanes,
                m.relu && ends ? positive_part(sum[row][v]) : sum[row][v]);
    }
  }
}

inline bool outer_of_nonzeros(const Outer& o) {
  return o.width == panel && o.rows >= 2 * unit && o.depth % unit == 0 &&
         o.g_unit_stride == unit && !o.row_offsets &&
         is_sparse(o.a, o.row_stride, o.rows, o.depth);
}

// Lists the nonzero elements of each column of A.
void outer_nonzeros(Outer o) {
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
