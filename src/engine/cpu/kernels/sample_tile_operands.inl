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

// 16, 48, 17, 49, …: the upper halves of two registers, interleaved.
inline __m512i upper_turns() {
  return _mm512_set_epi16(63, 31, 62, 30, 61, 29, 60, 28, 59, 27, 58, 26, 57, 25, 56, 24, 55, 23,
                          54, 22, 53, 21, 52, 20, 51, 19, 50, 18, 49, 17, 48, 16);
}
inline __m512i lower_turns() {
  return _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38,
                          6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
}

// Where the two pairs of outputs of a 2×2 window go, of two units.
struct WindowPairs {
  Bf16* upper;               // of the first unit
  std::int64_t line, unit;   // numbers to the window's lower pair, to the second unit
  void put(std::int64_t sample, const __m512i (&slots)[4], bool both) const {
    Bf16* to = upper + sample * tile_channels;
    store_numbers(to, _mm512_permutex2var_epi16(slots[0], lower_turns(), slots[1]));
    store_numbers(to + line, _mm512_permutex2var_epi16(slots[2], lower_turns(), slots[3]));
    if (!both) return;
    store_numbers(to + unit, _mm512_permutex2var_epi16(slots[0], upper_turns(), slots[1]));
    store_numbers(to + unit + line, _mm512_permutex2var_epi16(slots[2], upper_turns(), slots[3]));
  }
};

// A window's slots, of two units: zeros except for the winners.
template <bool in_pairs>
inline void put_winners(const UnitImages& from, const WinnerImages& w, const float* at,
                        const std::uint8_t* index, bool both, TwoBiases& sums, Bf16* row,
                        const WindowPairs& pairs) {
  const __m256i none = _mm256_set1_epi8(static_cast<char>(no_gradient));
  for (std::int64_t s = 0; s < from.samples;
       ++s, at += from.sample, index += w.sample, row += tile_channels) {
    const vec one = load(at), other = both ? load(at + from.unit) : vec{};
    const __m512i g = rounded(one, other);
    const __m128i lower = _mm_loadu_si128(reinterpret_cast<const __m128i*>(index));
    const __m128i upper =
        both ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(index + from.unit))
             : _mm256_castsi256_si128(none);
    const __m256i winner = _mm256_set_m128i(upper, lower);
    sums.add(one, other, _mm256_cmpneq_epi8_mask(winner, none));
    const auto of_slot = [&](std::int64_t i) {
      const __m256i slot = _mm256_set1_epi8(static_cast<char>(i));
      return _mm512_maskz_mov_epi16(_mm256_cmpeq_epi8_mask(winner, slot), g);
    };
    if constexpr (in_pairs) {
      const __m512i slots[4] = {of_slot(0), of_slot(1), of_slot(2), of_slot(3)};
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) store_numbers(row + i * tile_size, slots[i]);
      pairs.put(s, slots, both);
    } else {
      for (std::int64_t i = 0; i < w.slots; ++i) store_numbers(row + i * tile_size, of_slot(i));
    }
  }
  const __m512i zeros[4] = {};
  for (std::int64_t s = from.samples; s < tile_samples && in_pairs; ++s) pairs.put(s, zeros, both);
}

void winners_side_by_side(const UnitImages& given, const WinnerImages& winners, float* bias,
                          Bf16* to, std::int64_t group_stride) {
  const UnitImages from = given;
  const WinnerImages w = winners;
  const std::int64_t line = w.across * tile_size;
  for (std::int64_t u = 0; u < from.units; u += 2, to += group_stride, bias += 32) {
    const bool both = u + 1 < from.units;
    TwoBiases sums(bias, both);
    for (std::int64_t p = 0; p < from.positions; ++p) {
      const float* at = from.images + u * from.unit + p * from.position;
      const std::uint8_t* index = w.winner + u * from.unit + p * from.position;
      Bf16* row = to + p * w.slots * tile_size;
      if (w.pairs)
        put_winners<true>(from, w, at, index, both, sums, row,
                          {w.pairs + u * w.pairs_unit + p / w.across * 2 * line +
                               p % w.across * tile_size,
                           line, w.pairs_unit});
      else
        put_winners<false>(from, w, at, index, both, sums, row, {});
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

// Up to four lines of eight numbers are stored at once: a tile does not wait for stores that are
// smaller than its rows.
template <int lines>
inline void pack_small_patch(const Bf16* from, std::int64_t line_stride, Bf16* to) {
  const auto line = [&](std::int64_t y) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + y * line_stride));
  };
  __m512i patch = _mm512_zextsi128_si512(line(0));
  if constexpr (lines > 1) patch = _mm512_inserti32x4(patch, line(1), 1);
  if constexpr (lines > 2) patch = _mm512_inserti32x4(patch, line(2), 2);
  if constexpr (lines > 3) patch = _mm512_inserti32x4(patch, line(3), 3);
  store_numbers(to, patch);
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

// Calls pack(from, to) for each sample's patch of each place.
template <class Pack>
inline void each_patch(const PatchPlaces& p, Pack pack) {
  Bf16* to = p.to;
  for (std::int64_t i = 0; i < p.places; ++i, to += (p.rows - p.samples) * p.row) {
    const Bf16* from = p.frames + p.offsets[i];
    for (std::int64_t s = 0; s < p.samples; ++s, from += p.frame_stride, to += p.row)
      pack(from, to);
  }
}

void patches(const PatchPlaces& given) {
  const PatchPlaces p = given;
  const __mmask32 last = first_numbers(p.run);
  const std::int64_t left = p.row - (p.lines - 1) * p.run;
  const __mmask32 rest = first_numbers(left);
  const auto pack_small = [&]<int lines>() {
    each_patch(p, [&](const Bf16* from, Bf16* to) {
      pack_small_patch<lines>(from, p.line_stride, to);
    });
  };
  const auto pack = [&]<int bytes>() {
    each_patch(p, [&](const Bf16* from, Bf16* to) {
      pack_patch<bytes>(from, p.line_stride, p.lines, p.run, last, rest, to);
    });
  };
  if (p.run == 8 && p.row == 32 && p.lines >= 2)  // up to four lines
    p.lines == 2   ? pack_small.template operator()<2>()
    : p.lines == 3 ? pack_small.template operator()<3>()
                   : pack_small.template operator()<4>();
  else if (left > 32 || p.run > 32)
    each_patch(p, [&](const Bf16* from, Bf16* to) {
      pack_long_patch(from, p.line_stride, p.lines, p.run, p.row, to);
    });
  else
    p.run <= 8    ? pack.template operator()<16>()
    : p.run <= 16 ? pack.template operator()<32>()
                  : pack.template operator()<64>();
}

inline __m512i wide_numbers(const Bf16* from) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

void turn_frames(const TurnedFrames& given) {
  const TurnedFrames f = given;
  for (std::int64_t i = 0; i < f.count; i += 16) {
    __m512 rows[16];
#pragma GCC unroll 16
    for (int s = 0; s < 16; ++s) {
      const Bf16* from = f.frames + s * f.frame_stride + i;
      rows[s] = s < f.samples
                    ? _mm512_castsi512_ps(_mm512_or_si512(
                          wide_numbers(from), _mm512_slli_epi32(wide_numbers(from + f.apart), 16)))
                    : _mm512_setzero_ps();
    }
    transpose_registers(rows);
    Bf16* to = f.to + i * tile_channels;
#pragma GCC unroll 16
    for (int n = 0; n < 16; ++n)
      store_numbers(to + n * tile_channels, _mm512_castps_si512(rows[n]));
  }
}

void tap_lines(const TapLines& given) {
  const TapLines t = given;
  for (std::int64_t y = 0; y < t.lines; ++y) {
    const Bf16* from = t.from + y * t.line_stride * tile_channels;
    Bf16* to = t.to + y * tile_channels;
    for (std::int64_t i = 0; i < t.numbers; ++i)
      store_numbers(to + i * t.lines * tile_channels, load_numbers(from + i * tile_channels));
  }
}

// Windows of an even width: all lines of them at once, and the bias. Shifts by 0 and 16 put a winner
// in the first and second half of its pair; any other shift, of another pair's winner or of none,
// leaves nothing.
template <int fixed_lines, int fixed_width>
inline void gradient_windows(const GradientTiles& t) {
  const std::int64_t lines = fixed_lines > 0 ? fixed_lines : t.pool_height,
                     width = fixed_width > 0 ? fixed_width : t.pool_width;
  const std::int64_t first = 2 * t.first / width, end = first + 2 * t.pairs / width;
  vec bias = t.bias ? load(t.bias) : vec{};
  Bf16* to = t.to;
  for (std::int64_t w = first; w < end; ++w, to += width / 2 * lines * tile_size) {
    const float* gradients = t.gradients + w * t.window;
    const std::uint8_t* winners = t.winner + w * t.window;
    for (std::int64_t s = 0; s < t.samples; ++s) {
      const vec gradient = load(gradients + s * t.sample);
      const __m512i g = _mm512_cvtepu16_epi32(rounded(gradient)),
                    winner = winner_indices(winners + s * t.winner_sample);
      bias = _mm512_mask_add_ps(
          bias, _mm512_cmpneq_epi32_mask(winner, _mm512_set1_epi32(no_gradient)), bias, gradient);
      const __m512i shift = _mm512_slli_epi32(winner, 4);
#pragma GCC unroll 2
      for (std::int64_t y = 0; y < lines; ++y)
#pragma GCC unroll 2
        for (std::int64_t x = 0; x < width / 2; ++x) {
          const auto slot_shift = static_cast<std::int32_t>(16 * (y * width + 2 * x));
          store_numbers(
              to + (x * lines + y) * tile_size + s * tile_channels,
              _mm512_sllv_epi32(g, _mm512_sub_epi32(shift, _mm512_set1_epi32(slot_shift))));
        }
    }
  }
  if (t.bias) store(t.bias, bias);
}

// The gradient of a sample at a line of the windows and column x as a number per lane.
inline __m512i gradient_at(const GradientTiles& t, std::int64_t s, std::int64_t y, std::int64_t x) {
  if (x >= t.width) return _mm512_setzero_si512();
  const std::int64_t window = x / t.pool_width * t.window;
  const __m512i g = _mm512_cvtepu16_epi32(rounded(load(t.gradients + window + s * t.sample)));
  if (!t.winner) return g;
  const std::int64_t slot = y * t.pool_width + x % t.pool_width;
  return _mm512_maskz_mov_epi32(
      _mm512_cmpeq_epi32_mask(winner_indices(t.winner + window + s * t.winner_sample),
                              _mm512_set1_epi32(static_cast<std::int32_t>(slot))),
      g);
}

void gradient_tiles(const GradientTiles& given) {
  const GradientTiles t = given;
  if (t.winner && t.pool_width == 2 && t.pool_height == 2) {
    gradient_windows<2, 2>(t);
  } else if (t.winner && t.pool_width % 2 == 0) {
    gradient_windows<0, 0>(t);
  } else {
    for (std::int64_t p = 0; p < t.pairs; ++p)
      for (std::int64_t y = 0; y < t.pool_height; ++y)
        for (std::int64_t s = 0; s < t.samples; ++s) {
          const std::int64_t x = 2 * (t.first + p);
          store_numbers(t.to + (p * t.pool_height + y) * tile_size + s * tile_channels,
                        _mm512_or_si512(gradient_at(t, s, y, x),
                                        _mm512_slli_epi32(gradient_at(t, s, y, x + 1), 16)));
        }
  }
  for (std::int64_t i = 0; i < t.pairs * t.pool_height && t.samples < tile_samples; ++i)
    for (std::int64_t s = t.samples; s < tile_samples; ++s)
      store_numbers(t.to + i * tile_size + s * tile_channels, _mm512_setzero_si512());
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

// Eight channels of four samples each, sample i of every four.
inline __m512i lanes_of_samples(const Bf16* place, int i, std::int64_t samples) {
  if (!place) return _mm512_setzero_si512();
  if (samples == tile_samples) return lanes_of(place + i * tile_channels, 4 * tile_channels);
  alignas(64) Bf16 gathered[32] = {};
  for (std::int64_t s = i; s < samples; s += 4)
    __builtin_memcpy(gathered + s / 4 * 8, place + s * tile_channels, 8 * sizeof(Bf16));
  return load_numbers(gathered);
}

// 4 × 4 lanes of 32 bits, in each of four.
inline void transpose_in_lanes(__m512i (&a)[4]) {
  const __m512i b[4] = {_mm512_unpacklo_epi32(a[0], a[1]), _mm512_unpackhi_epi32(a[0], a[1]),
                        _mm512_unpacklo_epi32(a[2], a[3]), _mm512_unpackhi_epi32(a[2], a[3])};
  a[0] = _mm512_unpacklo_epi64(b[0], b[2]), a[1] = _mm512_unpackhi_epi64(b[0], b[2]);
  a[2] = _mm512_unpacklo_epi64(b[1], b[3]), a[3] = _mm512_unpackhi_epi64(b[1], b[3]);
}

// A place's channels, two in each lane: (8 pairs of channels, 16 samples).
struct TurnedPlace {
  __m512i pairs[8];

  void turn(const Bf16* place, std::int64_t samples) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      __m512i four[4];
#pragma GCC unroll 4
      for (int s = 0; s < 4; ++s)
        four[s] = lanes_of_samples(place ? place + 8 * half : nullptr, s, samples);
      transpose_in_lanes(four);
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) pairs[4 * half + c] = four[c];
    }
  }
};

// The second place of a pair is often the first one of the next, and then it is turned once.
void turn_places(const PairPlaces& given) {
  const PairPlaces p = given;
  constexpr __mmask32 upper = 0xaaaaaaaa;  // of each lane
  for (std::int64_t u = p.unit_part.begin; u < p.unit_part.end; ++u) {
    const Bf16* from = p.from + u / 2 * p.from_groups + u % 2 * 16;
    const auto turn = [&](std::int32_t place, TurnedPlace& to) {
      to.turn(place < 0 ? nullptr : from + place * tile_size, p.samples);
    };
    TurnedPlace first, second;
    for (std::int64_t i = p.pair_part.begin; i < p.pair_part.end; ++i) {
      const PlacePair pair = p.pairs[i];
      if (i > p.pair_part.begin && pair.first == p.pairs[i - 1].second)
        first = second;
      else
        turn(pair.first, first);
      turn(pair.second, second);
      Bf16* to = p.to + (u * p.count + i) * tile_size;
#pragma GCC unroll 8
      for (int c = 0; c < 8; ++c, to += 2 * tile_channels) {
        const __m512i one = first.pairs[c], other = second.pairs[c];
        store_numbers(to, _mm512_mask_blend_epi16(upper, one, _mm512_slli_epi32(other, 16)));
        store_numbers(to + tile_channels,
                      _mm512_mask_blend_epi16(upper, _mm512_srli_epi32(one, 16), other));
      }
    }
  }
}

void pool(const PoolTiles& p) { pool_pieces(p, 0, p.pieces()); }
