// Products that skip zeros: after ReLU half of a dense layer's inputs are zero, after dropout more,
// and as many of the gradients before them. A register tile shares each row of B among several rows
// of A and cannot skip. Here a row of A goes through the bits of its nonzero elements, 64 at a time,
// and only their rows of B are read, from the L1 cache. An element is what a lane multiplies at
// once: a float, or a pair in bf16, which is skipped if both its numbers are zero. The sums keep
// their order, and adding a zero changes none, so the results are the dense product's bit for bit.
// Included by the AVX-512 kernels: other instruction sets have no mask of a register's nonzeros.

constexpr std::int64_t block_depth = 64;  // elements of B: 16 KiB of the L1 cache for a panel

template <class Operand>
inline __m512i load_elements(const Operand* x) {
  return _mm512_loadu_si512(x);
}

// A bit for each of up to 64 elements, a multiple of 16.
template <class Math>
inline std::uint64_t nonzero_bits(const typename Math::Operand* x, std::int64_t elements) {
  std::uint64_t bits = 0;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < block_depth; i += 16)
    if (i < elements)
      bits |= static_cast<std::uint64_t>(Math::nonzero(load_elements(x + i * Math::together))) << i;
  return bits;
}

// Rows that an element selects: its value in A, and what it is multiplied with in panels of B.
template <class Math>
struct Selected {
  const typename Math::Operand* values;
  std::int64_t stride;  // from an element to the next
  const typename Math::Operand* rows;
  std::int64_t row_stride, panel_stride;
};

// sum += Σ value · row over the elements in `bits`, in their order. Two panels at once have enough
// sums to hide the latency of additions (four cycles on Intel's CPUs, which add twice a cycle; six
// for pairs on Zen 4, which adds once), and load a value for more of them.
template <class Math, int panels>
[[gnu::always_inline]] inline void add_selected(std::uint64_t bits, const Selected<Math>& of,
                                                vec (&sum)[panels][4]) {
  for (; bits; bits &= bits - 1) {
    const std::int64_t i = __builtin_ctzll(bits);
    const vec value = Math::spread(of.values + i * of.stride);
    const typename Math::Operand* row = of.rows + i * of.row_stride;
#pragma GCC unroll 2
    for (int p = 0; p < panels; ++p, row += of.panel_stride) {
      // A pointer of its own: with a base and an index Intel's CPUs split each multiply-add in two.
      asm("" : "+r"(row));
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v)
        sum[p][v] =
            Math::add_product(sum[p][v], value, Math::read(row + v * lanes * Math::together));
    }
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

// Up to the percentages of Math skipping is faster; two panels at once gain more.

template <class Math, int panels>
constexpr std::int64_t sparse_percent() {
  if constexpr (panels == 2) return Math::sparse_percent;
  return Math::sparse_percent_of_one;
}
template <class Math, int panels>
constexpr std::int64_t sparse_percent_of_outer() {
  if constexpr (panels == 2) return Math::sparse_percent_of_outer;
  return Math::sparse_percent_of_one_outer;
}

template <class Math, int panels>
inline bool multiplies_nonzeros(const Product<typename Math::Operand>& m) {
  constexpr std::int64_t together = Math::together;
  return m.width == panel && m.rows > 2 * tile_rows<4> && m.segments == 1 &&
         m.run >= 2 * unit * together && m.run % (unit * together) == 0 &&
         m.c_unit_stride == unit && !m.row_offsets && !m.segment_offsets && !m.c_row_offsets &&
         is_sparse<Math>(m.a, m.row_stride, m.rows, m.run / together,
                         sparse_percent<Math, panels>());
}

// Elements [first, end) of some rows of A and their rows of B.
template <class Math, int panels>
void multiply_block_of_nonzeros(Product<typename Math::Operand> m, SecondPanel second,
                                std::int64_t first, std::int64_t end) {
  constexpr std::int64_t together = Math::together;
  const bool begins = first == 0 && !m.adds, ends = end * together >= m.run;
  const typename Math::Operand* a = m.a + first * together;
  float* c = m.c;
  // Few rows meet B as it comes from memory. They read it in no order that the hardware prefetcher
  // would see, so each asks for a part of the next block.
  constexpr std::int64_t few_rows = 96, block = block_depth * panel * together;
  const std::int64_t lines = block * sizeof(*m.b) / 64;
  const std::int64_t fetched = m.rows <= few_rows ? (lines + m.rows - 1) / m.rows : 0;
  const typename Math::Operand* next = m.b + first * panel * together + block;
  for (std::int64_t r = 0; r < m.rows; ++r, a += m.row_stride, c += m.c_row_stride) {
    for (std::int64_t i = 0; i < fetched; ++i, next += unit * together)
#pragma GCC unroll 2
      for (int p = 0; p < panels; ++p) __builtin_prefetch(next + p * second.operand, 0, 2);
    // Rows are far apart: the hardware prefetcher does not expect the next ones.
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < block_depth; k += unit)
      __builtin_prefetch(a + 2 * m.row_stride + k * together);
    vec sum[panels][4];
#pragma GCC unroll 2
    for (int p = 0; p < panels; ++p)
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const float* at = c + p * second.result + v * lanes;
        __builtin_prefetch(at + 2 * m.c_row_stride);
        sum[p][v] = !begins ? load(at) : m.bias ? load(m.bias + p * panel + v * lanes) : vec{};
      }
    add_selected<Math, panels>(nonzero_bits<Math>(a, end - first),
                               {a, together, m.b + first * panel * together, panel * together,
                                second.operand},
                               sum);
#pragma GCC unroll 2
    for (int p = 0; p < panels; ++p)
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v)
        store(c + p * second.result + v * lanes,
              m.relu && ends ? positive_part(sum[p][v]) : sum[p][v]);
  }
}

template <class Math, int panels>
void multiply_nonzeros(Product<typename Math::Operand> m, SecondPanel second = {}) {
  constexpr std::int64_t most_rows = 192;  // whose sums stay in the L2 cache
  const std::int64_t elements = m.run / Math::together, all = m.rows;
  for (std::int64_t r = 0; r < all; r += most_rows) {
    Product<typename Math::Operand> some = m;
    some.rows = all - r < most_rows ? all - r : most_rows;
    some.a = m.a + r * m.row_stride, some.c = m.c + r * m.c_row_stride;
    for (std::int64_t k = 0; k < elements; k += block_depth) {
      const std::int64_t end = elements - k < block_depth ? elements : k + block_depth;
      multiply_block_of_nonzeros<Math, panels>(some, second, k, end);
    }
  }
}

template <class Math, int panels>
inline bool outer_of_nonzeros(const OuterProduct<typename Math::Operand>& o) {
  return o.width == panel && o.rows >= 2 * unit && o.depth % unit == 0 &&
         o.g_unit_stride == unit * Math::together && !o.row_offsets &&
         is_sparse<Math>(o.a, o.row_stride, o.rows, o.depth,
                         sparse_percent_of_outer<Math, panels>());
}

// For each of 16 columns of A the bits of up to 64 rows.
template <class Math>
inline void nonzero_bits_of_columns(const typename Math::Operand* a, std::int64_t stride,
                                    std::int64_t rows, std::uint64_t (&bits)[unit]) {
  alignas(64) std::uint16_t of_row[block_depth] = {};
  for (std::int64_t r = 0; r < rows; ++r)
    of_row[r] = Math::nonzero(load_elements(a + r * stride));
  const __m512i first = _mm512_load_si512(of_row), second = _mm512_load_si512(of_row + 32);
#pragma GCC unroll 16
  for (int i = 0; i < unit; ++i)
    bits[i] = static_cast<std::uint64_t>(
                  _mm512_movepi16_mask(_mm512_slli_epi16(first, unit - 1 - i))) |
              static_cast<std::uint64_t>(
                  _mm512_movepi16_mask(_mm512_slli_epi16(second, unit - 1 - i)))
                  << 32;
}

template <class Math, int panels>
void outer_block_of_nonzeros(OuterProduct<typename Math::Operand> o, SecondPanel second,
                             std::int64_t first) {
  constexpr std::int64_t together = Math::together;
  const std::int64_t rows = o.rows - first < block_depth ? o.rows - first : block_depth;
  const bool begins = first == 0 && !o.accumulate;
  const typename Math::Operand* a = o.a + first * o.row_stride;
  for (std::int64_t k = 0; k < o.depth; k += unit) {
    std::uint64_t bits[unit];
    nonzero_bits_of_columns<Math>(a + k * together, o.row_stride, rows, bits);
    for (int i = 0; i < unit; ++i) {
      float* d = o.d + (k + i) * panel;
      vec sum[panels][4];
#pragma GCC unroll 2
      for (int p = 0; p < panels; ++p)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
          sum[p][v] = begins ? vec{} : load(d + p * second.result + v * lanes);
      add_selected<Math, panels>(bits[i],
                                 {a + (k + i) * together, o.row_stride,
                                  o.g + first * o.g_row_stride, o.g_row_stride, second.operand},
                                 sum);
#pragma GCC unroll 2
      for (int p = 0; p < panels; ++p)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) store(d + p * second.result + v * lanes, sum[p][v]);
    }
  }
}

template <class Math, int panels>
void outer_nonzeros(const OuterProduct<typename Math::Operand>& o, SecondPanel second = {}) {
  for (std::int64_t first = 0; first < o.rows; first += block_depth)
    outer_block_of_nonzeros<Math, panels>(o, second, first);
}
