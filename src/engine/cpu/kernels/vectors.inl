// Registers of SWEETSPOT_LANES floats, and units of 16 floats composed of them. Included by the
// kernels of each instruction set.

constexpr int lanes = SWEETSPOT_LANES;
constexpr int vectors = 16 / lanes;  // registers in a unit
#if SWEETSPOT_LANES == 16 || defined(__aarch64__)
constexpr int registers = 32;  // that the CPU has
#else
constexpr int registers = 16;
#endif
typedef float vec __attribute__((vector_size(lanes * 4)));
typedef float vec_unaligned __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef std::int32_t ivec __attribute__((vector_size(lanes * 4)));
typedef std::int32_t ivec_unaligned __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef std::uint8_t bvec __attribute__((vector_size(lanes)));
typedef std::uint8_t bvec_unaligned __attribute__((vector_size(lanes), aligned(1), may_alias));

inline vec load(const float* p) { return *reinterpret_cast<const vec_unaligned*>(p); }
inline void store(float* p, vec v) { *reinterpret_cast<vec_unaligned*>(p) = v; }
inline vec broadcast(float x) { return x - vec{}; }
inline vec larger(vec a, vec b) { return a > b ? a : b; }
// Bytes as whole numbers. GCC converts a vector of bytes one by one.
inline ivec widened(const std::uint8_t* p) {
#if SWEETSPOT_LANES == 16
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<ivec>(_mm512_cvtepu8_epi32(bytes));
#elif SWEETSPOT_LANES == 8 && defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<ivec>(_mm256_cvtepu8_epi32(bytes));
#else
  return __builtin_convertvector(*reinterpret_cast<const bvec_unaligned*>(p), ivec);
#endif
}
// x in the lanes whose bit is set, zeros in the others.
inline vec where_set(int bits, vec x) {
#if SWEETSPOT_LANES == 16
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(bits), x);
#else
  ivec of_lane;
  for (int lane = 0; lane < lanes; ++lane) of_lane[lane] = 1 << lane;
  return (of_lane & bits) != 0 ? x : vec{};
#endif
}
// A NaN passes: training must detect that it diverged.
inline vec positive_part(vec x) { return larger(vec{}, x); }

#if SWEETSPOT_LANES == 16
// 16 × 16: four rounds of shuffles exchange pairs, quads, halves of 256 bits and halves of 512
// bits.
__attribute__((always_inline)) inline void transpose_registers(__m512 (&a)[16]) {
  __m512 b[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const __m512d lower = _mm512_castps_pd(b[i + j]), upper = _mm512_castps_pd(b[i + j + 2]);
      a[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(lower, upper));
      a[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lower, upper));
    }
    // Now a[4q + c] holds column c + 4 · lane of rows 4q..4q+3, for each 128-bit lane.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 even01 = _mm512_shuffle_f32x4(a[c], a[c + 4], 0x88),
                 odd01 = _mm512_shuffle_f32x4(a[c], a[c + 4], 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(a[c + 8], a[c + 12], 0x88);
    const __m512 odd23 = _mm512_shuffle_f32x4(a[c + 8], a[c + 12], 0xdd);
    b[c] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    b[c + 4] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    b[c + 8] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    b[c + 12] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = b[i];
}
#endif
