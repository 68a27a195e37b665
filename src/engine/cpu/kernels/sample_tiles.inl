// Products of tiles whose rows are samples (sample_tiles.h). Included after tiles.inl.

// Sums are tiles 0 to 3. Two tiles of each side alternate, and each sum of a group is stored just
// before its tile begins the next group's: loads, multiplications and stores overlap even on a CPU
// that does not rename tiles.
template <class Tiles, int i>
inline void end_tap_sum(const TapProduct& p, const TapGroup* group) {
  if (group && group->c[i] >= 0) Tiles::template store<i>(p.c + group->c[i], 4 * p.c_row);
}
template <class Tiles, int i, bool begins>
inline void add_tap(const TapProduct& p, const TapGroup* before, const Bf16* a, bool first) {
  Tiles::template load<4 + i % 2>(a, 2 * p.a_row);
  if constexpr (begins) {
    end_tap_sum<Tiles, i>(p, before);
    Tiles::template zero<i>();
  }
  if (first)
    Tiles::template multiply<i, 4 + i % 2, 6>();
  else
    Tiles::template multiply<i, 4 + i % 2, 7>();
}

// `first`: the right side is tile 6, else 7.
template <class Tiles, bool begins>
inline void add_taps(const TapProduct& p, const TapGroup* before, const Bf16* a,
                     const TapStep& step, const Bf16* b, bool first) {
  if (first)
    Tiles::template load<6>(b + step.b, 2 * tile_channels);
  else
    Tiles::template load<7>(b + step.b, 2 * tile_channels);
  add_tap<Tiles, 0, begins>(p, before, a + step.a[0], first);
  add_tap<Tiles, 1, begins>(p, before, a + step.a[1], first);
  add_tap<Tiles, 2, begins>(p, before, a + step.a[2], first);
  add_tap<Tiles, 3, begins>(p, before, a + step.a[3], first);
}

template <class Tiles>
void taps_on_tiles(const TapProduct& given) {
  const TapProduct p = given;
  if (p.configures) Tiles::configure(static_cast<int>(p.samples));
  const TapGroup* before = nullptr;
  const auto end = [&] {
    end_tap_sum<Tiles, 0>(p, before);
    end_tap_sum<Tiles, 1>(p, before);
    end_tap_sum<Tiles, 2>(p, before);
    end_tap_sum<Tiles, 3>(p, before);
  };
  bool first = true;
  for (std::int64_t i = 0; i < p.group_count; ++i) {
    const TapGroup& group = p.groups[i];
    const TapStep* steps = p.steps + group.first;
    const std::int32_t count = group.steps;
    if (count == 0) {
      end();
      Tiles::template zero<0>();
      Tiles::template zero<1>();
      Tiles::template zero<2>();
      Tiles::template zero<3>();
    }
    for (std::int64_t g = 0; g < p.channel_groups; ++g) {
      const Bf16* a = p.a + g * p.a_group;
      const Bf16* b = p.b + g * p.b_group;
      std::int32_t s = 0;
      if (g == 0 && count > 0) {
        add_taps<Tiles, true>(p, before, a, steps[0], b, first);
        first = !first, s = 1;
      }
      for (; s < count; ++s, first = !first)
        add_taps<Tiles, false>(p, before, a, steps[s], b, first);
    }
    before = &group;
  }
  end();
}

// The same for pairs; sums begin with what is there.
template <class Tiles, int i, int across>
inline float* pair_sum(const PairProduct& p, const PairGroup& group) {
  return group.d + i / across * p.d_next + i % across * 16;
}
template <class Tiles, int i, int across>
inline void change_pair_sum(const PairProduct& p, const PairGroup* before, const PairGroup* next) {
  const std::int64_t stride = 4 * p.d_row;
  if (before) Tiles::template store<i>(pair_sum<Tiles, i, across>(p, *before), stride);
  if (next) Tiles::template load<i>(pair_sum<Tiles, i, across>(p, *next), stride);
}

template <class Tiles, int down, int across, bool begins>
inline void add_pairs_of(const PairProduct& p, const PairGroup* before, const PairGroup& group,
                         const PairStep& step) {
  constexpr std::int64_t bytes = 2 * tile_channels;
  const Bf16* a = p.a + step.a;
  const Bf16* b = p.b + step.b;
  Tiles::template load<4>(a, 2 * p.a_row);
  Tiles::template load<6>(b, bytes);
  if constexpr (begins) change_pair_sum<Tiles, 0, across>(p, before, &group);
  Tiles::template multiply<0, 4, 6>();
  if constexpr (across == 2) {
    Tiles::template load<7>(b + p.b_next, bytes);
    if constexpr (begins) change_pair_sum<Tiles, 1, across>(p, before, &group);
    Tiles::template multiply<1, 4, 7>();
  }
  if constexpr (down == 2) {
    Tiles::template load<5>(a + p.a_next, 2 * p.a_row);
    if constexpr (begins) change_pair_sum<Tiles, across, across>(p, before, &group);
    Tiles::template multiply<across, 5, 6>();
    if constexpr (across == 2) {
      if constexpr (begins) change_pair_sum<Tiles, 3, across>(p, before, &group);
      Tiles::template multiply<3, 5, 7>();
    }
  }
}

template <class Tiles, int down, int across>
inline void add_pair_products(const PairProduct& p) {
  const PairGroup* before = nullptr;
  for (std::int64_t i = 0; i < p.group_count; ++i) {
    const PairGroup& group = p.groups[i];
    if (group.count == 0) continue;
    add_pairs_of<Tiles, down, across, true>(p, before, group, group.steps[0]);
    for (std::int64_t s = 1; s < group.count; ++s)
      add_pairs_of<Tiles, down, across, false>(p, before, group, group.steps[s]);
    before = &group;
  }
  change_pair_sum<Tiles, 0, across>(p, before, nullptr);
  if constexpr (down * across > 1) change_pair_sum<Tiles, 1, across>(p, before, nullptr);
  if constexpr (down * across > 2) {
    change_pair_sum<Tiles, 2, across>(p, before, nullptr);
    change_pair_sum<Tiles, 3, across>(p, before, nullptr);
  }
}

template <class Tiles>
void pairs_on_tiles(const PairProduct& given) {
  const PairProduct p = given;
  if (p.configures) Tiles::configure(static_cast<int>(tile_samples));
  if (p.down == 2)
    p.across == 2 ? add_pair_products<Tiles, 2, 2>(p) : add_pair_products<Tiles, 2, 1>(p);
  else
    p.across == 2 ? add_pair_products<Tiles, 1, 2>(p) : add_pair_products<Tiles, 1, 1>(p);
}
