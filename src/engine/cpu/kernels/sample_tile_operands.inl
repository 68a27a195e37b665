// What surrounds the products of sample_tiles.inl, on registers of AVX512-BF16. Included by
// avx512bf16.cpp.

// 32 channels of one position: of two units, or of one and zeros.
inline __m512i two_units_of(const float* unit, std::int64_t plane, bool both) {
  return rounded(load(unit), both ? load(unit + plane) : vec{});
}

void side_by_side(const UnitImages& given, Bf16* to, std::int64_t group_stride) {
  const UnitImages from = given;
  for (std::int64_t u = 0; u < from.units; u += 2, to += group_stride) {
    const bool both = u + 1 < from.units;
    Bf16* tile = to;
    for (std::int64_t p = 0; p < from.positions; ++p, tile += tile_size) {
      const float* at = from.images + u * from.unit + p * from.position;
      for (std::int64_t s = 0; s < from.samples; ++s, at += from.sample)
        store_numbers(tile + s * tile_channels, two_units_of(at, from.unit, both));
    }
  }
}

// Sums of the gradients of two units.
struct TwoBiases {
  explicit TwoBiases(const float* bias, bool both)
      : first(load(bias)), second(both ? load(bias + 16) : vec{}) {}
  void add(vec one, vec other, __mmask32 passes) {
    first = _mm512_mask_add_ps(first, static_cast<__mmask16>(passes), first, one);
    second = _mm512_mask_add_ps(second, static_cast<__mmask16>(passes >> 16), second, other);
  }
  void put(float* bias, bool both) const {
    store(bias, first);
    if (both) store(bias + 16, second);
  }
  __m512 first, second;
};

void winners_side_by_side(const UnitImages& given, const WinnerImages& winners, float* bias,
                          Bf16* to, std::int64_t group_stride) {
  const UnitImages from = given;
  const WinnerImages w = winners;
  const __m256i none = _mm256_set1_epi8(static_cast<char>(no_gradient));
  for (std::int64_t u = 0; u < from.units; u += 2, to += group_stride, bias += 32) {
    const bool both = u + 1 < from.units;
    TwoBiases sums(bias, both);
    Bf16* tile = to;
    for (std::int64_t p = 0; p < from.positions; ++p, tile += w.slots * tile_size) {
      const float* at = from.images + u * from.unit + p * from.position;
      const std::uint8_t* index = w.winner + u * from.unit + p * from.position;
      Bf16* row = tile;
      for (std::int64_t s = 0; s < from.samples;
           ++s, at += from.sample, index += w.sample, row += tile_channels) {
        const vec one = load(at), other = both ? load(at + from.unit) : vec{};
        const __m512i g = rounded(one, other);
        const __m128i lower = _mm_loadu_si128(reinterpret_cast<const __m128i*>(index));
        const __m128i upper =
            both ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(index + from.unit))
                 : _mm_set1_epi8(static_cast<char>(no_gradient));
        const __m256i winner = _mm256_set_m128i(upper, lower);
        sums.add(one, other, _mm256_cmpneq_epi8_mask(winner, none));
        __m256i slot = _mm256_setzero_si256();
        for (std::int64_t i = 0; i < w.slots; ++i) {
          store_numbers(row + i * tile_size,
                        _mm512_maskz_mov_epi16(_mm256_cmpeq_epi8_mask(winner, slot), g));
          slot = _mm256_add_epi8(slot, _mm256_set1_epi8(1));
        }
      }
    }
    sums.put(bias, both);
  }
}

void gradients_side_by_side(const UnitImages& given, const Bf16* values, float* bias, Bf16* to,
                            std::int64_t group_stride) {
  const UnitImages from = given;
  for (std::int64_t u = 0; u < from.units; u += 2, to += group_stride, bias += 32) {
    const bool both = u + 1 < from.units;
    TwoBiases sums(bias, both);
    Bf16* tile = to;
    const Bf16* value = values;
    for (std::int64_t p = 0; p < from.positions; ++p, tile += tile_size, value += tile_size) {
      const float* at = from.images + u * from.unit + p * from.position;
      for (std::int64_t s = 0; s < from.samples; ++s, at += from.sample) {
        const vec one = load(at), other = both ? load(at + from.unit) : vec{};
        const __mmask32 passes =
            values ? _mm512_cmpgt_epi16_mask(load_numbers(value + s * tile_channels),
                                             _mm512_setzero_si512())
                   : ~__mmask32{};
        sums.add(one, other, passes);
        store_numbers(tile + s * tile_channels,
                      _mm512_maskz_mov_epi16(passes, rounded(one, other)));
      }
    }
    if (values) values += group_stride;
    sums.put(bias, both);
  }
}

// Copies short lines with registers of their size; each overwrites what the one before it wrote
// beyond its line, and zeros follow the last.
template <int bytes>
inline void pack_patch(const Bf16* from, std::int64_t line_stride, std::int64_t lines,
                       std::int64_t run, __mmask32 last, __mmask32 rest, Bf16* to) {
  for (std::int64_t y = 0; y + 1 < lines; ++y, from += line_stride, to += run) {
    if constexpr (bytes == 16)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    else if constexpr (bytes == 32)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    else
      store_numbers(to, load_numbers(from));
  }
  _mm512_mask_storeu_epi16(to, rest, _mm512_maskz_loadu_epi16(last, from));
}

inline __mmask32 first_numbers(std::int64_t count) {
  return count >= 32 ? ~0u : (1u << count) - 1;
}

// Lines longer than a register.
inline void pack_long_patch(const Bf16* from, std::int64_t line_stride, std::int64_t lines,
                            std::int64_t run, std::int64_t row, Bf16* to) {
  const Bf16* end = to + row;
  for (std::int64_t y = 0; y < lines; ++y, from += line_stride, to += run)
    for (std::int64_t i = 0; i < run; i += 32) {
      const __mmask32 mask = first_numbers(run - i);
      _mm512_mask_storeu_epi16(to + i, mask, _mm512_maskz_loadu_epi16(mask, from + i));
    }
  for (; to < end; to += 32)
    _mm512_mask_storeu_epi16(to, first_numbers(end - to), _mm512_setzero_si512());
}

void patches(const PatchPlaces& given) {
  const PatchPlaces p = given;
  const __mmask32 last = first_numbers(p.run);
  const std::int64_t left = p.row - (p.lines - 1) * p.run;
  const __mmask32 rest = first_numbers(left);
  Bf16* to = p.to;
  for (std::int64_t i = 0; i < p.places; ++i, to += (p.rows - p.samples) * p.row) {
    const Bf16* from = p.frames + p.offsets[i];
    for (std::int64_t s = 0; s < p.samples; ++s, from += p.frame_stride, to += p.row) {
      if (left > 32 || p.run > 32)
        pack_long_patch(from, p.line_stride, p.lines, p.run, p.row, to);
      else if (p.run <= 8)
        pack_patch<16>(from, p.line_stride, p.lines, p.run, last, rest, to);
      else if (p.run <= 16)
        pack_patch<32>(from, p.line_stride, p.lines, p.run, last, rest, to);
      else
        pack_patch<64>(from, p.line_stride, p.lines, p.run, last, rest, to);
    }
  }
}

// Each copy may write a register's numbers beyond its row: the next one, or the zeros, follow.
void tap_rows(const TapRows& given) {
  const TapRows r = given;
  Bf16* to = r.to;
  for (std::int64_t t = 0; t < r.taps; ++t, to += r.length) {
    const Bf16* from = r.from + r.offsets[t];
    for (std::int64_t y = 0; y < r.rows; ++y, from += r.row_stride)
      for (std::int64_t x = 0; x < r.width; x += 32)
        store_numbers(to + y * r.pitch + x, load_numbers(from + x));
    for (std::int64_t i = r.rows * r.pitch; i < r.length; i += 32)
      _mm512_mask_storeu_epi16(to + i, first_numbers(r.length - i), _mm512_setzero_si512());
  }
}

// Shifts by 0 and 16 put a winner in the first and second half of its pair; any other shift, of
// another winner or of none, leaves nothing.
inline __m512i winner_pair(__m512i gradient, __m512i winner, std::int64_t first_slot) {
  return _mm512_sllv_epi32(
      gradient, _mm512_slli_epi32(
                    _mm512_sub_epi32(winner, _mm512_set1_epi32(static_cast<std::int32_t>(first_slot))),
                    4));
}
inline __m512i wide_gradient(const float* gradients) {
  return _mm512_cvtepu16_epi32(rounded(load(gradients)));
}

// The gradient at row y and column x as a number per lane.
inline __m512i gradient_at(const GradientRows& r, std::int64_t across, std::int64_t y,
                           std::int64_t x) {
  if (x >= r.width) return _mm512_setzero_si512();
  const std::int64_t window = (y / r.pool_height * across + x / r.pool_width) * r.window;
  const __m512i g = wide_gradient(r.gradients + window);
  if (!r.winner) return g;
  const std::int64_t slot = y % r.pool_height * r.pool_width + x % r.pool_width;
  return _mm512_maskz_mov_epi32(
      _mm512_cmpeq_epi32_mask(winner_indices(r.winner + window),
                              _mm512_set1_epi32(static_cast<std::int32_t>(slot))),
      g);
}

// Windows of an even width: all lines of a row of them at once, and the bias.
inline void gradient_windows(const GradientRows& r) {
  const std::int64_t across = r.width / r.pool_width, line = r.width * 16;
  vec bias = r.bias ? load(r.bias) : vec{};
  const float* gradients = r.gradients;
  const std::uint8_t* winners = r.winner;
  Bf16* to = r.to;
  for (std::int64_t y = 0; y < r.rows; y += r.pool_height, to += (r.pool_height - 1) * line)
    for (std::int64_t w = 0; w < across;
         ++w, gradients += r.window, winners += r.window, to += r.pool_width * 16) {
      const vec gradient = load(gradients);
      const __m512i g = _mm512_cvtepu16_epi32(rounded(gradient)), winner = winner_indices(winners);
      const __mmask16 passes = _mm512_cmpneq_epi32_mask(winner, _mm512_set1_epi32(no_gradient));
      bias = _mm512_mask_add_ps(bias, passes, bias, gradient);
      std::int64_t slot = 0;
      for (std::int64_t i = 0; i < r.pool_height; ++i)
        for (std::int64_t x = 0; x < r.pool_width; x += 2, slot += 2)
          store_numbers(to + i * line + x * 16, winner_pair(g, winner, slot));
    }
  if (r.bias) store(r.bias, bias);
}

void gradient_rows(const GradientRows& given) {
  const GradientRows r = given;
  const std::int64_t across = r.width / r.pool_width;
  Bf16* to = r.to;
  if (r.winner && r.pool_width % 2 == 0) {
    gradient_windows(r);
    to += r.rows * r.width * 16;
  } else {
    for (std::int64_t y = 0; y < r.rows; ++y)
      for (std::int64_t x = 0; x < r.width; x += 2, to += 32)
        store_numbers(to, _mm512_or_si512(gradient_at(r, across, y, x),
                                          _mm512_slli_epi32(gradient_at(r, across, y, x + 1), 16)));
  }
  for (; to < r.to + r.pairs * 32; to += 32) store_numbers(to, _mm512_setzero_si512());
}

// 16, 48, 17, 49, …: the upper halves of two registers, interleaved.
inline __m512i upper_turns() {
  return _mm512_set_epi16(63, 31, 62, 30, 61, 29, 60, 28, 59, 27, 58, 26, 57, 25, 56, 24, 55, 23,
                          54, 22, 53, 21, 52, 20, 51, 19, 50, 18, 49, 17, 48, 16);
}
inline __m512i lower_turns() {
  return _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38,
                          6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
}

// Calls visit(order, number of the tile in `to`, first place's rows, second place's rows) for each
// unit of each pair of places; null: zeros.
template <class Visit>
inline void each_unit_of_pairs(const PairPlaces& p, Visit visit) {
  for (std::int64_t u = p.unit_part.begin; u < p.unit_part.end; ++u) {
    const __m512i order = u % 2 == 0 ? lower_turns() : upper_turns();
    const Bf16* from = p.from + u / 2 * p.from_groups;
    for (std::int64_t i = p.pair_part.begin; i < p.pair_part.end; ++i) {
      const PlacePair pair = p.pairs[i];
      visit(order, u * p.count + i, pair.first < 0 ? nullptr : from + pair.first * tile_size,
            pair.second < 0 ? nullptr : from + pair.second * tile_size);
    }
  }
}

inline __m512i interleaved(__m512i order, const Bf16* first, const Bf16* second) {
  return _mm512_permutex2var_epi16(first ? load_numbers(first) : _mm512_setzero_si512(), order,
                                   second ? load_numbers(second) : _mm512_setzero_si512());
}

void pair_places(const PairPlaces& given) {
  const PairPlaces p = given;
  each_unit_of_pairs(
      p, [&](__m512i order, std::int64_t tile, const Bf16* first, const Bf16* second) {
        Bf16* to = p.to + tile * tile_size;
        std::int64_t s = 0;
        for (; s < p.samples; ++s, to += tile_channels)
          store_numbers(to, interleaved(order, first ? first + s * tile_channels : nullptr,
                                        second ? second + s * tile_channels : nullptr));
        for (; s < tile_samples; ++s, to += tile_channels) store_numbers(to, _mm512_setzero_si512());
      });
}

void turn_places(const PairPlaces& given) {
  const PairPlaces p = given;
  each_unit_of_pairs(
      p, [&](__m512i order, std::int64_t tile, const Bf16* first, const Bf16* second) {
        __m512 rows[16];
#pragma GCC unroll 16
        for (int s = 0; s < 16; ++s)
          rows[s] = s < p.samples ? _mm512_castsi512_ps(interleaved(
                                        order, first ? first + s * tile_channels : nullptr,
                                        second ? second + s * tile_channels : nullptr))
                                  : _mm512_setzero_ps();
        transpose_registers(rows);
        Bf16* to = p.to + tile * tile_size;
#pragma GCC unroll 16
        for (int c = 0; c < 16; ++c)
          store_numbers(to + c * tile_channels, _mm512_castps_si512(rows[c]));
      });
}

// The largest of a window's sums, and which one it is.
struct Best {
  __m512 value;
  __m512i winner = _mm512_setzero_si512();

  explicit Best(vec first) : value(first) {}
  void meet(vec x, std::int64_t slot) {
    const __mmask16 wins = _mm512_cmp_ps_mask(x, value, _CMP_GT_OQ);
    value = _mm512_mask_mov_ps(value, wins, x);
    winner = _mm512_mask_mov_epi32(winner, wins, _mm512_set1_epi32(static_cast<std::int32_t>(slot)));
  }
  void stop_negative() {
    // A NaN passes.
    const __mmask16 stops = _mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_LE_OQ);
    value = _mm512_mask_mov_ps(value, stops, _mm512_setzero_ps());
    winner = _mm512_mask_mov_epi32(winner, stops, _mm512_set1_epi32(no_gradient));
  }
  void put_winner(std::uint8_t* to) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(winner));
  }
};

// `fixed_slots`: how many a window has; 0: any.
template <int fixed_slots, bool tiled>
inline void pool_tiles(const PoolTiles& given) {
  const PoolTiles p = given;
  const std::int64_t slots = fixed_slots > 0 ? fixed_slots : p.slots;
  const vec bias = p.bias ? load(p.bias) : vec{};
  for (std::int64_t w = 0; w < p.windows; ++w) {
    const float* sums = p.sums + w * slots * 256;
    float* out = p.out + w * 16;
    Bf16* row = p.tiles + w * tile_size;
    std::uint8_t* winners = p.winner + w * (tiled ? tile_floats : 16);
    for (std::int64_t s = 0; s < p.samples; ++s, sums += 16, out += p.out_stride,
                      row += tile_channels, winners += tiled ? 16 : p.winner_stride) {
      Best best(load(sums));
#pragma GCC unroll 4
      for (std::int64_t i = 1; i < slots; ++i) best.meet(load(sums + i * 256), i);
      best.value = _mm512_add_ps(best.value, bias);
      if (p.relu) best.stop_negative();
      if constexpr (!tiled)
        store(out, best.value);
      else if (p.clears)
        store_numbers(row, _mm512_zextsi256_si512(rounded(best.value)));
      else
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), rounded(best.value));
      if (fixed_slots != 1) best.put_winner(winners);
    }
  }
}

template <bool tiled>
inline void pool_to(const PoolTiles& p) {
  if (!p.winner) return pool_tiles<1, tiled>(p);
  p.slots == 4 ? pool_tiles<4, tiled>(p) : pool_tiles<0, tiled>(p);
}
void pool(const PoolTiles& p) { p.tiles ? pool_to<true>(p) : pool_to<false>(p); }
