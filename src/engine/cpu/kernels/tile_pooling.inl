// Pooling of sums that were tiles (sample_tiles.h). Included after rounding.inl.

// The largest of a window's sums, and which one it is: bytes, which no instruction has to narrow.
struct Best {
  __m512 value;
  __m128i winner = _mm_setzero_si128();

  explicit Best(vec first) : value(first) {}
  void meet(vec x, std::int64_t slot) {
    const __mmask16 wins = _mm512_cmp_ps_mask(x, value, _CMP_GT_OQ);
    value = _mm512_mask_mov_ps(value, wins, x);
    winner = _mm_mask_mov_epi8(winner, wins, _mm_set1_epi8(static_cast<char>(slot)));
  }
  void stop_negative() {
    // A NaN passes.
    const __mmask16 passes = _mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_NLE_UQ);
    value = _mm512_maskz_mov_ps(passes, value);
    winner = _mm_mask_mov_epi8(_mm_set1_epi8(static_cast<char>(no_gradient)), passes, winner);
  }
  void put_winner(std::uint8_t* to) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), winner);
  }
};

// Of four sums, in two rounds, and the first one of equals as above.
inline Best best_of_four(vec a, vec b, vec c, vec d) {
  const __mmask16 second = _mm512_cmp_ps_mask(b, a, _CMP_GT_OQ),
                  fourth = _mm512_cmp_ps_mask(d, c, _CMP_GT_OQ);
  // Of equals, or with a NaN, the one that is named last.
  const __m512 upper = _mm512_max_ps(b, a), lower = _mm512_max_ps(d, c);
  const __mmask16 below = _mm512_cmp_ps_mask(lower, upper, _CMP_GT_OQ);
  Best best(_mm512_max_ps(lower, upper));
  const __m128i of_lower = _mm_mask_mov_epi8(_mm_set1_epi8(2), fourth, _mm_set1_epi8(3));
  best.winner = _mm_mask_mov_epi8(_mm_maskz_mov_epi8(second, _mm_set1_epi8(1)), below, of_lower);
  return best;
}

// `fixed_slots`: how many a window has; 0: any.
template <int fixed_slots, bool tiled>
inline void pool_tiles(const PoolTiles& given, std::int64_t first_piece, std::int64_t end_piece) {
  const PoolTiles p = given;
  const std::int64_t slots = fixed_slots > 0 ? fixed_slots : p.slots;
  const vec bias = p.bias ? load(p.bias) : vec{};
  for (std::int64_t piece = first_piece; piece < end_piece; ++piece) {
    const std::int64_t w = piece / PoolTiles::pieces_of_window,
                       begin = piece % PoolTiles::pieces_of_window * PoolTiles::piece_samples;
    const std::int64_t end =
        begin + PoolTiles::piece_samples < p.samples ? begin + PoolTiles::piece_samples : p.samples;
    for (std::int64_t s = begin; s < end; ++s) {
      const float* sums = p.sums + w * slots * 256 + s * 16;
      Best best(load(sums));
      if constexpr (fixed_slots == 4)
        best = best_of_four(load(sums), load(sums + 256), load(sums + 512), load(sums + 768));
      else
        for (std::int64_t i = 1; i < slots; ++i) best.meet(load(sums + i * 256), i);
      best.value = _mm512_add_ps(best.value, bias);
      if (p.relu) best.stop_negative();
      Bf16* row = p.tiles + w * tile_size + s * tile_channels;
      if constexpr (!tiled)
        store(p.out + w * 16 + s * p.out_stride, best.value);
      else if (p.clears)
        store_numbers(row, _mm512_zextsi256_si512(rounded(best.value)));
      else
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), rounded(best.value));
      if (fixed_slots != 1)
        best.put_winner(p.winner +
                        (tiled ? w * tile_floats + s * 16 : w * 16 + s * p.winner_stride));
    }
  }
}

template <bool tiled>
inline void pool_to(const PoolTiles& p, std::int64_t first_piece, std::int64_t end) {
  if (!p.winner) return pool_tiles<1, tiled>(p, first_piece, end);
  p.slots == 4 ? pool_tiles<4, tiled>(p, first_piece, end)
               : pool_tiles<0, tiled>(p, first_piece, end);
}
// Pieces [first, end).
inline void pool_pieces(const PoolTiles& p, std::int64_t first, std::int64_t end) {
  if (first >= end) return;
  p.tiles ? pool_to<true>(p, first, end) : pool_to<false>(p, first, end);
}

// All of them in so many steps.
class PoolSteps {
 public:
  PoolSteps(const PoolTiles& tiles, std::int64_t steps)
      : tiles_(tiles), end_(tiles.pieces()), step_((end_ + steps - 1) / steps) {}
  void next() {
    const std::int64_t end = end_ - at_ < step_ ? end_ : at_ + step_;
    pool_pieces(tiles_, at_, end);
    at_ = end;
  }

 private:
  const PoolTiles& tiles_;
  std::int64_t at_ = 0, end_, step_;
};
