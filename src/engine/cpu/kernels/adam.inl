// Adam's update of a register of weights. Included after vectors.inl.

#if SWEETSPOT_LANES == 16
// m / (√v + ε) with the 14-bit reciprocal estimates and one Newton step each: accurate to a few
// units in the last place and three times faster than division and square root.
inline vec quotient(vec m, vec v, float epsilon) {
  const vec positive = larger(v, broadcast(1e-37f));  // the square root of zero has no reciprocal
  vec r = _mm512_rsqrt14_ps(positive);
  r = r * (1.5f - 0.5f * positive * r * r);
  const vec d = positive * r + epsilon;
  vec q = _mm512_rcp14_ps(d);
  q = q * (2.f - d * q);
  return m * q;
}
#else
inline vec quotient(vec m, vec v, float epsilon) {
  vec root;
  for (int lane = 0; lane < lanes; ++lane) root[lane] = __builtin_sqrtf(v[lane]);
  return m / (root + epsilon);
}
#endif

struct Adam {
  AdamStep step;
  const float* gradient;
  float *weight, *mean, *square;
  Following following;

  // The new weights from i on, which it stores.
  vec update(std::int64_t i) const {
    if (i % unit == 0) {
      if (following.arrays > 0) __builtin_prefetch(weight + i + following.ahead, 0, 2);
      if (following.arrays > 1) __builtin_prefetch(mean + i + following.ahead, 0, 2);
      if (following.arrays > 2) __builtin_prefetch(square + i + following.ahead, 0, 2);
    }
    const vec g = load(gradient + i), w = load(weight + i);
    const vec m = step.beta1 * load(mean + i) + (1 - step.beta1) * g;
    const vec v = step.beta2 * load(square + i) + (1 - step.beta2) * g * g;
    store(mean + i, m), store(square + i, v);
    const vec next = w - (step.decay * w + step.learning_rate * quotient(m, v, step.epsilon));
    store(weight + i, next);
    return next;
  }
};
