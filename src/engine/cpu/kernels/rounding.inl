// bf16 in registers. Included after vectors.inl by the kernels of each instruction set that rounds.

inline __m512i rounded(vec lower, vec upper) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(upper, lower));
}
inline __m256i rounded(vec x) { return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)); }
inline __m512i load_numbers(const Bf16* from) { return _mm512_loadu_si512(from); }
inline void store_numbers(Bf16* to, __m512i x) { _mm512_storeu_si512(to, x); }
