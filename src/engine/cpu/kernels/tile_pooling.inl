// Pooling of sums that were tiles (sample_tiles.h). Included after rounding.inl.

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
inline void pool_tiles(const PoolTiles& given, std::int64_t begin, std::int64_t end) {
  const PoolTiles p = given;
  const std::int64_t slots = fixed_slots > 0 ? fixed_slots : p.slots;
  const vec bias = p.bias ? load(p.bias) : vec{};
  for (std::int64_t w = begin; w < end; ++w) {
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
inline void pool_to(const PoolTiles& p, std::int64_t begin, std::int64_t end) {
  if (!p.winner) return pool_tiles<1, tiled>(p, begin, end);
  p.slots == 4 ? pool_tiles<4, tiled>(p, begin, end) : pool_tiles<0, tiled>(p, begin, end);
}
// Windows [begin, end).
inline void pool_windows(const PoolTiles& p, std::int64_t begin, std::int64_t end) {
  p.tiles ? pool_to<true>(p, begin, end) : pool_to<false>(p, begin, end);
}
