// Channels that are repeated `times` in a row: a unit of them becomes `times` units, and lane l of
// the k-th of these is lane (16 k + l) / times of the first. Included by kernels.inl.

#if SWEETSPOT_LANES == 16
inline vec lanes_of(vec from, ivec index) {
  return reinterpret_cast<vec>(_mm512_permutexvar_ps(reinterpret_cast<__m512i>(index), from));
}
#endif

// `to`: the k-th unit's plane.
void repeat_lanes(const float* from, std::int64_t positions, std::int64_t times, std::int64_t k,
                  float* to) {
  std::int32_t source[16];
  for (std::int64_t l = 0; l < 16; ++l) source[l] = static_cast<std::int32_t>((16 * k + l) / times);
#if SWEETSPOT_LANES == 16
  const ivec index = *reinterpret_cast<const ivec_unaligned*>(source);
  for (std::int64_t i = 0; i < positions * 16; i += 16)
    store(to + i, lanes_of(load(from + i), index));
#else
  for (std::int64_t i = 0; i < positions * 16; i += 16)
    for (int l = 0; l < 16; ++l) to[i + l] = from[i + source[l]];
#endif
}

// Adds the k-th unit's plane to the lanes that it repeats, lane by lane.
void add_repeated(const float* from, std::int64_t positions, std::int64_t times, std::int64_t k,
                  float* to) {
#if SWEETSPOT_LANES == 16
  // In step t each lane takes its t-th of this unit, if it has so many; −1: none.
  ivec steps[16];
  const std::int64_t most = times < 16 ? times : 16;
  for (std::int64_t t = 0; t < most; ++t)
    for (std::int64_t lane = 0; lane < 16; ++lane) {
      const std::int64_t begin = lane * times - 16 * k, first = begin > 0 ? begin : 0;
      const bool taken = first + t < 16 && first + t < begin + times;
      steps[t][lane] = taken ? static_cast<std::int32_t>(first + t) : -1;
    }
  for (std::int64_t i = 0; i < positions * 16; i += 16) {
    const vec repeated = load(from + i);
    vec sum = load(to + i);
    for (std::int64_t t = 0; t < most; ++t)
      sum += steps[t] >= 0 ? lanes_of(repeated, steps[t]) : vec{};
    store(to + i, sum);
  }
#else
  std::int32_t target[16];
  for (std::int64_t l = 0; l < 16; ++l) target[l] = static_cast<std::int32_t>((16 * k + l) / times);
  for (std::int64_t i = 0; i < positions * 16; i += 16)
    for (int l = 0; l < 16; ++l) to[i + target[l]] += from[i + l];
#endif
}
