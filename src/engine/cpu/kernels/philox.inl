// Philox4x32-10 as in core/random.h, sixteen counters at a time. Included by kernels.inl.

// Sixteen 32-bit values in the lower halves of 64-bit lanes, as x86's widening multiplication needs
// them; the upper halves are ignored.
#if defined(__AVX2__)
typedef long long wide __attribute__((vector_size(lanes * 4), may_alias));
constexpr int wide_count = 16 / (lanes / 2);

inline wide multiply_low(wide a, wide b) {
#if SWEETSPOT_LANES == 16
  return reinterpret_cast<wide>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#else
  return reinterpret_cast<wide>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#endif
}
// A shuffle runs beside the multiplications; on Intel's CPUs a shift takes their port.
inline wide upper_half(wide a) {
#if SWEETSPOT_LANES == 16
  return reinterpret_cast<wide>(_mm512_shuffle_epi32(reinterpret_cast<__m512i>(a), _MM_PERM_DDBB));
#else
  return reinterpret_cast<wide>(_mm256_shuffle_epi32(reinterpret_cast<__m256i>(a), 0xf5));
#endif
}
#else
typedef unsigned long long wide __attribute__((vector_size(16), may_alias));
constexpr int wide_count = 8;

inline wide multiply_low(wide a, wide b) { return (a & 0xffffffffull) * (b & 0xffffffffull); }
inline wide upper_half(wide a) { return a >> 32; }
#endif

// The keys of all rounds, for all lanes.
struct PhiloxKeys {
  static constexpr int rounds = 10;
  wide first[rounds], second[rounds];

  explicit PhiloxKeys(std::uint64_t seed) {
    std::uint32_t k0 = static_cast<std::uint32_t>(seed),
                  k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < rounds; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
      first[round] = wide{} + k0, second[round] = wide{} + k1;
  }
};

// All rounds of several groups of counters, whose chains of dependent operations overlap.
template <int groups>
inline void philox_rounds(const PhiloxKeys& keys, wide (&c)[4][groups]) {
  const wide m0 = wide{} + 0xD2511F53ll, m1 = wide{} + 0xCD9E8D57ll;
#pragma GCC unroll 10
  for (int round = 0; round < PhiloxKeys::rounds; ++round)
#pragma GCC unroll 8
    for (int w = 0; w < groups; ++w) {
      const wide a = multiply_low(c[0][w], m0), b = multiply_low(c[2][w], m1);
      c[0][w] = upper_half(b) ^ c[1][w] ^ keys.first[round];
      c[1][w] = b;
      c[2][w] = upper_half(a) ^ c[3][w] ^ keys.second[round];
      c[3][w] = a;
    }
}

void philox_words(const PhiloxKeys& keys, std::uint32_t purpose, std::uint32_t step,
                  std::uint64_t first_counter, std::uint32_t (&words)[4][16]) {
  constexpr int per_wide = 16 / wide_count;
  alignas(64) std::uint64_t lower[16], upper[16];
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t counter = first_counter + static_cast<std::uint64_t>(i);
    lower[i] = counter & 0xffffffffu, upper[i] = counter >> 32;
  }
  wide c[4][wide_count];
  for (int w = 0; w < wide_count; ++w) {
    c[0][w] = *reinterpret_cast<const wide*>(lower + w * per_wide);
    c[1][w] = *reinterpret_cast<const wide*>(upper + w * per_wide);
    c[2][w] = wide{} + static_cast<long long>(step);
    c[3][w] = wide{} + static_cast<long long>(purpose);
  }
  philox_rounds(keys, c);
  for (int word = 0; word < 4; ++word)
    for (int i = 0; i < 16; ++i)
      words[word][i] = static_cast<std::uint32_t>(c[word][i / per_wide][i % per_wide]);
}

// An element whose word is at least `least` is kept.
struct KeepDraw {
  PhiloxKeys keys;
  std::uint32_t purpose, step, least;
};

#if SWEETSPOT_LANES == 16
constexpr int keep_block = 128;

// Four groups of eight counters, every other one of 16: the words of two groups interleave.
inline void draw_block(const KeepDraw& draw, std::uint64_t first_counter, std::uint16_t* keep) {
  wide c[4][4];
#pragma GCC unroll 4
  for (int w = 0; w < 4; ++w) {
    c[0][w] = wide{0, 2, 4, 6, 8, 10, 12, 14} + static_cast<long long>(first_counter) +
              (w / 2 * 16 + w % 2);
    c[1][w] = upper_half(c[0][w]);
    c[2][w] = wide{} + static_cast<long long>(draw.step);
    c[3][w] = wide{} + static_cast<long long>(draw.purpose);
  }
  philox_rounds(draw.keys, c);
  const __m512i least = _mm512_set1_epi32(static_cast<std::int32_t>(draw.least));
  // GCC would collect the masks in a register, which takes two shuffles of each.
  volatile std::uint16_t* to = keep;
#pragma GCC unroll 2
  for (int w = 0; w < 4; w += 2)
#pragma GCC unroll 4
    for (int word = 0; word < 4; ++word) {
      const __m512i words =
          _mm512_mask_shuffle_epi32(reinterpret_cast<__m512i>(c[word][w]), 0xaaaa,
                                    reinterpret_cast<__m512i>(c[word][w + 1]), _MM_PERM_CCAA);
      to[2 * w + word] = _mm512_cmpge_epu32_mask(words, least);
    }
}
#else
constexpr int keep_block = 64;

inline void draw_block(const KeepDraw& draw, std::uint64_t first_counter, std::uint16_t* keep) {
  std::uint32_t words[4][16];
  philox_words(draw.keys, draw.purpose, draw.step, first_counter, words);
  for (int word = 0; word < 4; ++word) {
    std::uint32_t bits = 0;
    for (int i = 0; i < 16; ++i) bits |= words[word][i] >= draw.least ? 1u << i : 0;
    keep[word] = static_cast<std::uint16_t>(bits);
  }
}
#endif

void keep_mask(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
               std::uint64_t first_counter, std::uint32_t threshold, std::int64_t count,
               std::uint16_t* keep) {
  const KeepDraw draw{PhiloxKeys(seed), purpose, step, threshold};
  for (; count >= keep_block; count -= keep_block, first_counter += keep_block / 4) {
    draw_block(draw, first_counter, keep);
    keep += keep_block / 16;
  }
  if (count == 0) return;
  std::uint16_t last[keep_block / 16];
  draw_block(draw, first_counter, last);
  for (std::int64_t i = 0; 16 * i < count; ++i) keep[i] = last[i];
}
