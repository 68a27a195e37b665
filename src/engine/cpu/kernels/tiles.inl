// The two bf16 products on tiles: 16 rows of 32 numbers times 16 pairs of rows of 16 columns are
// added to 16 × 16 sums. `Tiles` has eight tiles: configure(), zero<t>(), load<t>(from, bytes
// between rows), store<t>(to, bytes) and multiply<sums, left, right>(). Included by the kernels of
// each instruction set with tiles, after vectors.inl.

constexpr std::int64_t tile_height = 16, tile_numbers = 32;
constexpr std::int64_t two_tiles = 2 * tile_height;
// Numbers of each row that are packed at once: 32 KiB for 32 rows, which stay in the L1 cache.
constexpr std::int64_t most_packed = 512;

// Sums are tiles 0 to 3, the left side is 4, the right side 6 and 7. The CPU renames tiles, and one
// for the left side leaves it more of them: while a neighbour was busy on the core, products that
// loaded three left tiles in turn took twice as long as with one, and otherwise the same.
template <class Tiles, int down, int across>
struct TileBlock {
  static_assert(down * across <= 4 && down <= 2);

  // Starts from the existing sums, or from zeros.
  static void begin(const float* sums, std::int64_t stride, bool adds) {
    each<0>([&]<int t>() {
      if (adds)
        Tiles::template load<t>(sums + t / across * 16 * stride + t % across * 16, stride * 4);
      else
        Tiles::template zero<t>();
    });
  }
  static void end(float* sums, std::int64_t stride) {
    each<0>([&]<int t>() {
      Tiles::template store<t>(sums + t / across * 16 * stride + t % across * 16, stride * 4);
    });
  }
  // `left(s, i)` and `right(s, j)` load tile i or j of step s.
  template <class Left, class Right>
  static void add(std::int64_t steps, Left left, Right right) {
    if (steps == 0) return;
    each_right<0>([&]<int j>() { right.template operator()<6 + j>(0, j); });
    for (std::int64_t s = 0; s < steps; ++s) {
      const bool more = s + 1 < steps;
      each_row<0>([&]<int i>() {
        left.template operator()<4>(s, i);
        each_column<0>([&]<int j>() {
          Tiles::template multiply<i * across + j, 4, 6 + j % 2>();
          // A third and a fourth tile alternate with the first two, which are then reloaded.
          if constexpr (j + 2 < across)
            right.template operator()<6 + j % 2>(s, j + 2);
          else if constexpr (i + 1 == down)
            if (more) right.template operator()<6 + j % 2>(s + 1, j % 2);
        });
      });
    }
  }

 private:
  template <int t, class Visit>
  static void each(Visit visit) {
    if constexpr (t < down * across) {
      visit.template operator()<t>();
      each<t + 1>(visit);
    }
  }
  template <int i, class Visit>
  static void each_row(Visit visit) {
    if constexpr (i < down) {
      visit.template operator()<i>();
      each_row<i + 1>(visit);
    }
  }
  template <int j, class Visit>
  static void each_column(Visit visit) {
    if constexpr (j < across) {
      visit.template operator()<j>();
      each_column<j + 1>(visit);
    }
  }
  // Only those that have registers.
  template <int j, class Visit>
  static void each_right(Visit visit) {
    if constexpr (j < across && j < 2) {
      visit.template operator()<j>();
      each_right<j + 1>(visit);
    }
  }
};

// Asks for a few lines in each of so many steps.
class Fetch {
 public:
  Fetch(const Ahead& ahead, std::int64_t steps)
      : at_(static_cast<const char*>(ahead.from)),
        end_(at_ + ahead.bytes),
        step_((ahead.bytes / line + steps - 1) / steps * line) {}
  void next() {
    const char* end = end_ - at_ < step_ ? end_ : at_ + step_;
    for (; at_ < end; at_ += line) __builtin_prefetch(at_, 0, 2);
  }

 private:
  static constexpr std::int64_t line = 64;
  const char *at_, *end_;
  std::int64_t step_;
};

// The same for where sums will be stored: rows that are often a page apart, which the
// prefetcher misses. To the L2 cache, since the lines of such rows displace one another from the L1 cache.
class FetchRows {
 public:
  FetchRows(const float* rows, std::int64_t stride, std::int64_t count, int units,
            std::int64_t steps)
      : at_(rows),
        stride_(stride),
        left_(count),
        step_((count + steps - 1) / steps),
        units_(units) {}
  void next() {
    for (std::int64_t i = 0; i < step_ && left_ > 0; ++i, --left_, at_ += stride_)
      for (int u = 0; u < units_; ++u) __builtin_prefetch(at_ + 16 * u, 0, 2);
  }

 private:
  const float* at_;
  std::int64_t stride_, left_, step_;
  int units_;
};

// Calls visit<down, across>(column) for blocks of up to four tiles that cover `width` columns.
template <int down, class Visit>
inline void each_block(std::int64_t width, Visit visit) {
  constexpr int across = 4 / down;
  std::int64_t n = 0;
  for (; n + across * 16 <= width; n += across * 16) visit.template operator()<down, across>(n);
  if constexpr (across == 4) {
    if (n + 32 <= width) visit.template operator()<down, 2>(n), n += 32;
  }
  if (n < width) visit.template operator()<down, 1>(n);
}

inline void copy_numbers(const Bf16* from, std::int64_t count, Bf16* to) {
  for (; count >= 32; count -= 32, from += 32, to += 32)
    _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  if (count == 0) return;
  const __mmask32 mask = (1u << count) - 1;
  _mm512_mask_storeu_epi16(to, mask, _mm512_maskz_loadu_epi16(mask, from));
}

// Pads with zeros to 16 pairs of rows.
inline void pad_pairs(const Bf16* from, std::int64_t row_stride, std::int64_t unit_stride,
                      std::int64_t rows, std::int64_t width, Bf16* to) {
  for (std::int64_t r = 0; r < 16; ++r, from += row_stride)
    for (std::int64_t n = 0; n < width; n += 16)
      _mm512_storeu_si512(to + 2 * (r * width + n),
                          r < rows ? _mm512_loadu_si512(from + n / 16 * unit_stride)
                                   : _mm512_setzero_si512());
}

// Packs numbers [from, from + count) of each row, segment after segment, into rows of `stride`.
inline void pack_rows(const Product<Bf16>& m, std::int64_t first, std::int64_t rows,
                      std::int64_t from, std::int64_t count, std::int64_t stride, Bf16* to) {
  const std::int64_t run = m.run + m.run % 2, first_segment = from / run, begin = from % run;
  const std::int32_t* segments = m.segment_offsets;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Bf16* row =
        m.a + (m.row_offsets ? m.row_offsets[first + r] : (first + r) * m.row_stride);
    Bf16* packed = to + r * stride;
    std::int64_t left = count, j = begin;
    for (std::int64_t s = first_segment; left > 0; ++s, j = 0) {
      const std::int64_t numbers = run - j < left ? run - j : left;
      copy_numbers(row + (segments ? segments[s] : 0) + j, numbers, packed);
      packed += numbers, left -= numbers;
    }
    if (count < stride) {
      const __mmask32 rest = ~0u << (count % 32);
      _mm512_mask_storeu_epi16(to + r * stride + count / 32 * 32, rest, _mm512_setzero_si512());
    }
  }
}

// Applies bias and ReLU, and stores the rows in place.
inline void finish_rows(const Product<Bf16>& m, std::int64_t first, std::int64_t rows,
                        const float* sums) {
  for (std::int64_t r = 0; r < rows; ++r, sums += panel) {
    float* c = m.c + (m.c_row_offsets ? m.c_row_offsets[first + r] : (first + r) * m.c_row_stride);
    for (std::int64_t n = 0; n < m.width; n += 16) {
      vec sum = load(sums + n);
      if (m.bias) sum += load(m.bias + n);
      store(c + n / 16 * m.c_unit_stride, m.relu ? positive_part(sum) : sum);
    }
  }
}

template <class Tiles>
void multiply_on_tiles(const Product<Bf16>& m) {
  const std::int64_t depth = m.segments * (m.run + m.run % 2), b_stride = 2 * m.width;
  // Packing the rows of half a tile takes longer than multiplying them in registers.
  if (depth < tile_numbers) return kernels_avx512bf16.multiply(m);
  alignas(64) Bf16 a[two_tiles * most_packed], b_rest[tile_numbers * panel];
  alignas(64) float sums[two_tiles * panel];
  // Tiles of rows need no packing, and sums are stored once.
  const std::int64_t most_depth = m.row_tiles ? depth : most_packed;
  const bool finishes = m.bias || m.relu || m.c_row_offsets || m.c_unit_stride != 16;
  Tiles::configure();
  for (std::int64_t first = 0; first < m.rows; first += two_tiles) {
    const std::int64_t rows = m.rows - first < two_tiles ? m.rows - first : two_tiles;
    // Whole tiles of sums that nothing follows go where they belong.
    const bool in_sums = finishes || rows % tile_height > 0 || depth > most_depth;
    float* to = in_sums ? sums : m.c + first * m.c_row_stride;
    const std::int64_t to_stride = in_sums ? panel : m.c_row_stride;
    const std::int64_t fetched_rows = m.c_row_offsets || m.c_unit_stride != 16 ? 0 : rows;
    for (std::int64_t from = 0; from < depth; from += most_depth) {
      const std::int64_t count = depth - from < most_depth ? depth - from : most_depth;
      const std::int64_t whole = count / tile_numbers * tile_numbers,
                         packed = round_up(count, tile_numbers);
      // Whole tiles of rows that follow one another are read where they are.
      const bool in_place =
          m.row_tiles || (!m.row_offsets && m.segments == 1 && !m.segment_offsets &&
                          whole == count && rows % tile_height == 0);
      const std::int64_t stride = m.row_tiles ? tile_numbers : in_place ? m.row_stride : packed;
      const std::int64_t next_step = m.row_tiles ? tile_height * tile_numbers : tile_numbers,
                         next_rows = tile_height * (m.row_tiles ? depth : stride);
      const Bf16* left = m.row_tiles ? m.a + first * depth + from * tile_height
                         : in_place  ? m.a + first * m.row_stride + from
                                     : a;
      if (!in_place) pack_rows(m, first, rows, from, count, stride, a);
      const Bf16* b = m.b + from * m.width;
      if (whole < count)
        pad_pairs(b + whole * m.width, b_stride, tile_numbers, (count - whole) / 2, m.width,
                  b_rest);
      const auto block = [&]<int down, int across>(std::int64_t n) {
        using Block = TileBlock<Tiles, down, across>;
        Block::begin(to + n, to_stride, from > 0);
        FetchRows fetch(m.c + first * m.c_row_stride + n, m.c_row_stride, fetched_rows, across,
                        packed / tile_numbers);
        Block::add(
            packed / tile_numbers,
            [&]<int t>(std::int64_t s, int i) {
              if (i == 0) fetch.next();
              Tiles::template load<t>(left + s * next_step + i * next_rows, 2 * stride);
            },
            [&]<int t>(std::int64_t s, int j) {
              if (m.b_tiles) {
                const Bf16* tile =
                    m.b + (n / 16 + j) * 16 * depth + (from + s * tile_numbers) * tile_height;
                return Tiles::template load<t>(tile, 2 * tile_numbers);
              }
              const Bf16* step = s < whole / tile_numbers ? b + s * tile_numbers * m.width : b_rest;
              Tiles::template load<t>(step + 2 * n + j * tile_numbers, 2 * b_stride);
            });
        Block::end(to + n, to_stride);
      };
      if (rows > tile_height)
        each_block<2>(m.width, block);
      else
        each_block<1>(m.width, block);
    }
    if (in_sums) finish_rows(m, first, rows, sums);
  }
}

// Columns [k, k + 16) of 16 pairs of rows as rows of pairs.
inline void turn_pairs(const OuterProduct<Bf16>& o, std::int64_t first, std::int64_t rows,
                       std::int64_t k, Bf16* to) {
  __m512 pairs[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const std::int64_t r = first + i;
    pairs[i] = i < rows ? _mm512_loadu_ps(
                              o.a + (o.row_offsets ? o.row_offsets[r] : r * o.row_stride) + 2 * k)
                        : _mm512_setzero_ps();
  }
  transpose_registers(pairs);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_store_ps(to + i * tile_numbers, pairs[i]);
}

// The depth is a multiple of 16.
template <class Tiles>
void outer_on_tiles(const OuterProduct<Bf16>& o) {
  // Tiles of the left side one after the other: 16 columns, then the next 16 if present.
  alignas(64) Bf16 a[two_tiles * most_packed], g_rest[tile_numbers * panel];
  constexpr std::int64_t most_rows = most_packed / 2, of_tile = 16 * tile_numbers;
  const std::int64_t all_steps = (o.rows + 15) / 16;
  const std::int64_t four_products = (o.depth / 16 * o.width / 16 * all_steps + 3) / 4;
  Fetch fetches[] = {
      {o.ahead[0], four_products}, {o.ahead[1], four_products}, {o.ahead[2], four_products}};
  if (!o.configured) Tiles::configure();
  for (std::int64_t first = 0; first < o.rows; first += most_rows) {
    const std::int64_t rows = o.rows - first < most_rows ? o.rows - first : most_rows;
    const std::int64_t whole = rows / 16 * 16, steps = (rows + 15) / 16;
    const Bf16* g = o.g + first * o.g_row_stride;
    if (whole < rows)
      pad_pairs(g + whole * o.g_row_stride, o.g_row_stride, o.g_unit_stride, rows - whole, o.width,
                g_rest);
    for (std::int64_t k = 0; k < o.depth; k += two_tiles) {
      const std::int64_t tiles = o.depth - k > 16 ? 2 : 1;
      for (std::int64_t t = 0; t < tiles && !o.turned; ++t)
        for (std::int64_t s = 0; s < steps; ++s)
          turn_pairs(o, first + 16 * s, rows - 16 * s, k + 16 * t, a + (t * steps + s) * of_tile);
      const Bf16* left = o.turned ? o.a + (k / 16 * all_steps + first / 16) * of_tile : a;
      const std::int64_t next = (o.turned ? all_steps : steps) * of_tile;
      const auto block = [&]<int down, int across>(std::int64_t n) {
        using Block = TileBlock<Tiles, down, across>;
        float* d = o.d + k * o.width + n;
        Block::begin(d, o.width, o.accumulate || first > 0);
        Block::add(
            steps,
            [&]<int t>(std::int64_t s, int i) {
              if (i == 0)
                for (Fetch& fetch : fetches) fetch.next();
              Tiles::template load<t>(left + i * next + s * of_tile, 2 * tile_numbers);
            },
            [&]<int t>(std::int64_t s, int j) {
              if (s < whole / 16)
                Tiles::template load<t>(
                    g + 16 * s * o.g_row_stride + (n / 16 + j) * o.g_unit_stride,
                    2 * o.g_row_stride);
              else
                Tiles::template load<t>(g_rest + 2 * n + j * tile_numbers, 4 * o.width);
            });
        Block::end(d, o.width);
      };
      if (tiles == 2)
        each_block<2>(o.width, block);
      else
        each_block<1>(o.width, block);
    }
  }
}
