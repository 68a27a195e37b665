// Functions of a register of floats, for activations: polynomials instead of a C library call per
// element. Included by activations.inl. A NaN gives a NaN.

inline vec as_floats(ivec bits) { return reinterpret_cast<vec>(bits); }
inline ivec as_bits(vec x) { return reinterpret_cast<ivec>(x); }

// eˣ to 2 units in the last place: x = n ln 2 + r, and a polynomial in r. Zero below 2^-125, as
// with flushed denormals.
inline vec exponential(vec x) {
  constexpr float round = 12582912.f;  // 1.5 · 2²³: its last bit is worth 1
  constexpr float largest = 88.72283f, smallest = -87.f;
  vec clamped = x > largest ? broadcast(largest) : x;
  clamped = clamped < smallest ? broadcast(smallest) : clamped;
  const vec shifted = clamped * 1.44269504f + round;
  const vec n = shifted - round;
  const vec r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  vec p = broadcast(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.f;
  // 2ⁿ as 2 · 2ⁿ⁻¹, since 2¹²⁸ is not a float.
  const vec half = as_floats((as_bits(shifted) + (126 - 0x4b400000)) << 23);
  const vec result = p * half * 2.f;
  const vec bounded = x > largest ? broadcast(__builtin_inff()) : result;
  return x < smallest ? vec{} : bounded;
}

inline vec sigmoid(vec x) { return 1.f / (1.f + exponential(-x)); }

// A quotient of polynomials, odd over even, to 4 units in the last place; ±1 beyond the bound,
// where 1 is the nearest float.
inline vec hyperbolic_tangent(vec x) {
  constexpr float bound = 7.90531110763549805f;
  vec c = x > bound ? broadcast(bound) : x;
  c = c < -bound ? broadcast(-bound) : c;
  const vec s = c * c;
  vec p = broadcast(-2.76076847742355e-16f);
  p = p * s + 2.00018790482477e-13f;
  p = p * s - 8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  vec q = broadcast(1.19825839466702e-06f);
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  return c * p / q;
}

// ln x + correction for a normal x > 0, to a few units in the last place: x = 2ᵉ m with m in
// [√½, √2), and a polynomial in m − 1.
inline vec logarithm(vec x, vec correction = vec{}) {
  const ivec bits = as_bits(x);
  const ivec e = (bits - 0x3f3504f3) >> 23;
  const vec m = as_floats(bits - (e << 23)) - 1.f;
  const vec exponent = __builtin_convertvector(e, vec);
  vec p = broadcast(7.0376836292e-2f);
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const vec square = m * m;
  const vec series = p * m * square + exponent * -2.12194440e-4f - 0.5f * square + correction;
  return m + series + exponent * 0.693359375f;
}

// ln(1 + x) for x ≥ 0, with the rounding error of 1 + x added back.
inline vec log_of_one_plus(vec x) {
  const vec y = x + 1.f;
  const vec lost = x - (y - 1.f);
  return logarithm(y, lost / y);
}
