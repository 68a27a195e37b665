// Products of tiles whose rows are samples (sample_tiles.h). Included after tiles.inl.

// Sums are tiles 0 to 3. Two tiles of each side alternate, so that loads and multiplications overlap
// even on a CPU that does not rename tiles.
template <class Tiles, int right>
inline void add_taps(const Bf16* a, std::int64_t a_bytes, const TapStep& step, const Bf16* b) {
  Tiles::template load<right>(b + step.b, 2 * tile_channels);
  Tiles::template load<4>(a + step.a[0], a_bytes);
  Tiles::template multiply<0, 4, right>();
  Tiles::template load<5>(a + step.a[1], a_bytes);
  Tiles::template multiply<1, 5, right>();
  Tiles::template load<4>(a + step.a[2], a_bytes);
  Tiles::template multiply<2, 4, right>();
  Tiles::template load<5>(a + step.a[3], a_bytes);
  Tiles::template multiply<3, 5, right>();
}

template <class Tiles, int i>
inline void begin_sum(const TapProduct& p, const TapGroup& group) {
  if (p.adds && group.c[i] >= 0)
    Tiles::template load<i>(p.c + group.c[i], 4 * p.c_row);
  else
    Tiles::template zero<i>();
}
template <class Tiles, int i>
inline void end_sum(const TapProduct& p, const TapGroup& group) {
  if (group.c[i] >= 0) Tiles::template store<i>(p.c + group.c[i], 4 * p.c_row);
}

template <class Tiles>
void taps_on_tiles(const TapProduct& given) {
  const TapProduct p = given;
  const std::int64_t a_bytes = 2 * p.a_row;
  Tiles::configure(static_cast<int>(p.samples));
  for (std::int64_t i = 0; i < p.group_count; ++i) {
    const TapGroup& group = p.groups[i];
    const TapStep* steps = p.steps + group.first;
    const std::int32_t count = group.steps;
    begin_sum<Tiles, 0>(p, group);
    begin_sum<Tiles, 1>(p, group);
    begin_sum<Tiles, 2>(p, group);
    begin_sum<Tiles, 3>(p, group);
    for (std::int64_t g = 0; g < p.channel_groups; ++g) {
      const Bf16* a = p.a + g * p.a_group;
      const Bf16* b = p.b + g * p.b_group;
      std::int32_t s = 0;
      for (; s + 1 < count; s += 2) {
        add_taps<Tiles, 6>(a, a_bytes, steps[s], b);
        add_taps<Tiles, 7>(a, a_bytes, steps[s + 1], b);
      }
      if (s < count) add_taps<Tiles, 6>(a, a_bytes, steps[s], b);
    }
    end_sum<Tiles, 0>(p, group);
    end_sum<Tiles, 1>(p, group);
    end_sum<Tiles, 2>(p, group);
    end_sum<Tiles, 3>(p, group);
  }
}

template <class Tiles, int down, int across>
inline void add_pair_product(const PairProduct& p) {
  constexpr std::int64_t bytes = 2 * tile_channels;
  const std::int64_t a_bytes = 2 * p.a_row, stride = 4 * p.d_row;
  Tiles::template load<0>(p.d, stride);
  if constexpr (across == 2) Tiles::template load<1>(p.d + 16, stride);
  if constexpr (down == 2) Tiles::template load<2>(p.d + p.d_next, stride);
  if constexpr (down == 2 && across == 2) Tiles::template load<3>(p.d + p.d_next + 16, stride);
  for (std::int64_t s = 0; s < p.count; ++s) {
    const Bf16* a = p.a + p.steps[s].a;
    const Bf16* b = p.b + p.steps[s].b;
    Tiles::template load<4>(a, a_bytes);
    Tiles::template load<6>(b, bytes);
    Tiles::template multiply<0, 4, 6>();
    if constexpr (across == 2) {
      Tiles::template load<7>(b + p.b_next, bytes);
      Tiles::template multiply<1, 4, 7>();
    }
    if constexpr (down == 2) {
      Tiles::template load<5>(a + p.a_next, a_bytes);
      Tiles::template multiply<2, 5, 6>();
      if constexpr (across == 2) Tiles::template multiply<3, 5, 7>();
    }
  }
  Tiles::template store<0>(p.d, stride);
  if constexpr (across == 2) Tiles::template store<1>(p.d + 16, stride);
  if constexpr (down == 2) Tiles::template store<2>(p.d + p.d_next, stride);
  if constexpr (down == 2 && across == 2) Tiles::template store<3>(p.d + p.d_next + 16, stride);
}

template <class Tiles>
void pairs_on_tiles(const PairProduct& given) {
  const PairProduct p = given;
  Tiles::configure(static_cast<int>(tile_samples));
  if (p.down == 2)
    p.across == 2 ? add_pair_product<Tiles, 2, 2>(p) : add_pair_product<Tiles, 2, 1>(p);
  else
    p.across == 2 ? add_pair_product<Tiles, 1, 2>(p) : add_pair_product<Tiles, 1, 1>(p);
}
