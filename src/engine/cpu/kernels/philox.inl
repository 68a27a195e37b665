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
inline wide upper_half(wide a) {
  typedef unsigned long long unsigned_wide __attribute__((vector_size(lanes * 4)));
  return reinterpret_cast<wide>(reinterpret_cast<unsigned_wide>(a) >> 32);
}
#else
typedef unsigned long long wide __attribute__((vector_size(16), may_alias));
constexpr int wide_count = 8;

inline wide multiply_low(wide a, wide b) { return (a & 0xffffffffull) * (b & 0xffffffffull); }
inline wide upper_half(wide a) { return a >> 32; }
#endif

// All rounds of several groups of counters, whose chains of dependent operations overlap.
template <int groups>
inline void philox_rounds(std::uint64_t seed, wide (&c)[4][groups]) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  const wide m0 = wide{} + 0xD2511F53ll, m1 = wide{} + 0xCD9E8D57ll;
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
#pragma GCC unroll 8
    for (int w = 0; w < groups; ++w) {
      const wide a = multiply_low(c[0][w], m0), b = multiply_low(c[2][w], m1);
      c[0][w] = upper_half(b) ^ c[1][w] ^ (wide{} + static_cast<long long>(k0));
      c[1][w] = b;
      c[2][w] = upper_half(a) ^ c[3][w] ^ (wide{} + static_cast<long long>(k1));
      c[3][w] = a;
    }
}

void philox_words(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
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
  philox_rounds(seed, c);
  for (int word = 0; word < 4; ++word)
    for (int i = 0; i < 16; ++i)
      words[word][i] = static_cast<std::uint32_t>(c[word][i / per_wide][i % per_wide]);
}

#if SWEETSPOT_LANES == 16
// 128 elements: four groups of eight counters.
inline void keep_128(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
                     std::uint64_t first_counter, std::uint32_t threshold, std::uint8_t* keep) {
  wide c[4][4];
#pragma GCC unroll 4
  for (int w = 0; w < 4; ++w) {
    c[0][w] = wide{0, 1, 2, 3, 4, 5, 6, 7} + static_cast<long long>(first_counter) + 8 * w;
    c[1][w] = upper_half(c[0][w]);
    c[2][w] = wide{} + static_cast<long long>(step);
    c[3][w] = wide{} + static_cast<long long>(purpose);
  }
  philox_rounds(seed, c);
  const __m512i least = _mm512_set1_epi32(static_cast<std::int32_t>(threshold));
#pragma GCC unroll 2
  for (int block = 0; block < 2; ++block)
#pragma GCC unroll 4
    for (int word = 0; word < 4; ++word) {
      const __m512i words = _mm512_inserti64x4(
          _mm512_castsi256_si512(
              _mm512_cvtepi64_epi32(reinterpret_cast<__m512i>(c[word][2 * block]))),
          _mm512_cvtepi64_epi32(reinterpret_cast<__m512i>(c[word][2 * block + 1])), 1);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(keep + 64 * block + 16 * word),
                       _mm_maskz_set1_epi8(_mm512_cmpge_epu32_mask(words, least), 1));
    }
}
#endif

void keep_mask(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
               std::uint64_t first_counter, std::uint32_t threshold, std::int64_t count,
               std::uint8_t* keep) {
  std::int64_t e = 0;
#if SWEETSPOT_LANES == 16
  for (; e + 128 <= count; e += 128, first_counter += 32)
    keep_128(seed, purpose, step, first_counter, threshold, keep + e);
#endif
  for (; e < count; e += 64, first_counter += 16) {
    std::uint32_t words[4][16];
    philox_words(seed, purpose, step, first_counter, words);
    const std::int64_t n = count - e < 64 ? count - e : 64;
    if (n == 64) {
      for (int i = 0; i < 64; ++i) keep[e + i] = words[i / 16][i % 16] >= threshold;
    } else {
      for (std::int64_t i = 0; i < n; ++i) keep[e + i] = words[i / 16][i % 16] >= threshold;
    }
  }
}
