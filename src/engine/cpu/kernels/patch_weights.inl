// The weight gradient of a pooled first layer. Each channel has one winner in a window, and reads
// other numbers of the window's patch than its neighbours: one permutation gets a tap's number for
// each channel, for two windows at once. Included by avx512bf16.cpp.

// What the winners of two windows read, in the lower and upper halves of pairs. A patch of up to 32
// numbers is one register, and an index of 32 or more is of the second window's; a larger one is
// two registers.
template <int registers>
struct TwoPatches {
  __m512i first[registers], second[registers];
  TwoPatches(const Bf16* patches, bool both) {
    for (int i = 0; i < registers; ++i) {
      first[i] = load_numbers(patches + 32 * i);
      second[i] = both ? load_numbers(patches + 32 * (registers + i)) : _mm512_setzero_si512();
    }
  }
  __m512i at(__m512i index) const {
    if constexpr (registers == 1) return _mm512_permutex2var_epi16(first[0], index, second[0]);
    return _mm512_mask_mov_epi16(_mm512_permutex2var_epi16(first[0], index, first[1]), 0xaaaaaaaa,
                                 _mm512_permutex2var_epi16(second[0], index, second[1]));
  }
};

template <int registers, int taps>
inline void add_patches_of(PatchWeights p, std::int64_t tap) {
  vec sum[taps];
  float* to = p.to + tap * p.to_stride;
#pragma GCC unroll 16
  for (int t = 0; t < taps; ++t) sum[t] = load(to + t * p.to_stride);
  alignas(64) std::int32_t offsets[16], slots[16] = {};
  for (int t = 0; t < taps; ++t) offsets[t] = p.tap_offsets[tap + t] * 0x10001;
  // As 16-bit numbers; other winners than these have no gradient.
  __builtin_memcpy(slots, p.slot_offsets, sizeof(slots));
  const __m512i of_slot = _mm512_zextsi256_si512(
      _mm512_cvtepi32_epi16(_mm512_load_si512(slots)));
  const __m512i second = _mm512_set1_epi32(registers == 1 ? 32 << 16 : 0);
  const __m512i order = turns();
  for (std::int64_t w = 0; w < p.from.windows; w += 2) {
    const bool both = w + 1 < p.from.windows;
    const float* gradients = p.from.gradients + w * 16;
    const std::uint8_t* winner = p.from.winner + w * 16;
    const TwoPatches<registers> patches(p.patches + w * 32 * registers, both);
    const __m512i g = _mm512_permutexvar_epi16(
        order, rounded(load(gradients), both ? load(gradients + 16) : vec{}));
    const __m512i slot = _mm512_or_si512(
        winner_indices(winner),
        both ? _mm512_slli_epi32(winner_indices(winner + 16), 16) : _mm512_setzero_si512());
    const __m512i index =
        _mm512_add_epi16(_mm512_permutexvar_epi16(slot, of_slot), second);
#pragma GCC unroll 16
    for (int t = 0; t < taps; ++t)
      sum[t] = add_pairs(
          sum[t], g, patches.at(_mm512_add_epi32(index, _mm512_set1_epi32(offsets[t]))));
  }
#pragma GCC unroll 16
  for (int t = 0; t < taps; ++t) store(to + t * p.to_stride, sum[t]);
}

template <int registers, int taps = 16>
inline void add_patches_tail(const PatchWeights& p, std::int64_t tap) {
  if constexpr (taps > 0) {
    if (p.taps - tap >= taps)
      add_patches_of<registers, taps>(p, tap);
    else
      add_patches_tail<registers, taps - 1>(p, tap);
  }
}

void patch_weights(const PatchWeights& p) {
  for (std::int64_t tap = 0; tap < p.taps; tap += 16)
    p.row == 32 ? add_patches_tail<1>(p, tap) : add_patches_tail<2>(p, tap);
}
