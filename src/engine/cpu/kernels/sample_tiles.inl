// Products of tiles whose rows are samples (sample_tiles.h). Included after tiles.inl.

// Sums are tiles 0 to 3, of a position's units side by side. Each sum of a group is stored just
// before its tile begins the next group's: loads, multiplications and stores overlap even on a CPU
// that does not rename tiles.
template <int i, int across>
inline float* tap_sum(const TapProduct& p, const TapGroup& group) {
  return p.c + group.c[i / across] + i % across * p.c_next;
}
template <class Tiles, int i, int across>
inline void end_tap_sum(const TapProduct& p, const TapGroup* group) {
  if (group && group->c[i / across] >= 0)
    Tiles::template store<i>(tap_sum<i, across>(p, *group), 4 * p.c_row);
}
template <class Tiles, int across>
inline void end_tap_sums(const TapProduct& p, const TapGroup* group) {
  end_tap_sum<Tiles, 0, across>(p, group);
  end_tap_sum<Tiles, 1, across>(p, group);
  end_tap_sum<Tiles, 2, across>(p, group);
  end_tap_sum<Tiles, 3, across>(p, group);
}
// A group's sums begin with zeros, or with what earlier groups of channels have summed.
template <class Tiles, int i, int across>
inline void begin_tap_sum(const TapProduct& p, const TapGroup& group, bool adds) {
  if (adds && group.c[i / across] >= 0)
    Tiles::template load<i>(tap_sum<i, across>(p, group), 4 * p.c_row);
  else
    Tiles::template zero<i>();
}
// What changes at a group's first step: the sums of the one before it are stored.
struct TapChange {
  const TapGroup *before, *group;
  bool adds;
};
template <class Tiles, int i, int across>
inline void change_tap_sum(const TapProduct& p, const TapChange& change) {
  end_tap_sum<Tiles, i, across>(p, change.before);
  begin_tap_sum<Tiles, i, across>(p, *change.group, change.adds);
}

// Four positions: two tiles of each side alternate.
template <class Tiles, int i, bool begins>
inline void add_tap(const TapProduct& p, const TapChange& change, const Bf16* a, bool first) {
  Tiles::template load<4 + i % 2>(a, 2 * p.a_row);
  if constexpr (begins) change_tap_sum<Tiles, i, 1>(p, change);
  if (first)
    Tiles::template multiply<i, 4 + i % 2, 6>();
  else
    Tiles::template multiply<i, 4 + i % 2, 7>();
}
// `first`: the right side is tile 6, else 7.
template <class Tiles, bool begins>
inline void add_four_taps(const TapProduct& p, const TapChange& change, const Bf16* a,
                          const TapStep& step, const Bf16* b, bool first) {
  if (first)
    Tiles::template load<6>(b + step.b, 2 * tile_channels);
  else
    Tiles::template load<7>(b + step.b, 2 * tile_channels);
  add_tap<Tiles, 0, begins>(p, change, a + step.a[0], first);
  add_tap<Tiles, 1, begins>(p, change, a + step.a[1], first);
  add_tap<Tiles, 2, begins>(p, change, a + step.a[2], first);
  add_tap<Tiles, 3, begins>(p, change, a + step.a[3], first);
}

// Where a product of two positions with two units is: all steps of a group with one group of
// channels, then with the next, unless all groups come first.
class TapPlace {
 public:
  explicit TapPlace(const TapProduct& p)
      : p_(p), channels_at_once_(p.by_channels ? 1 : p.channel_groups) {
    skip_empty();
  }
  bool ended() const { return channels_ >= p_.channel_groups; }
  bool begins_group() const { return step_ == 0 && channels_ == first_channels_; }
  TapChange change(const TapGroup* before) const { return {before, &group(), first_channels_ > 0}; }
  const TapGroup& group() const { return p_.groups[group_]; }
  const Bf16* left(int i) const { return p_.a + channels_ * p_.a_group + step().a[i]; }
  const Bf16* right(int i) const {
    return p_.b + i * p_.b_next + channels_ * p_.b_group + step().b;
  }
  void advance() {
    if (++step_ < group().steps) return;
    step_ = 0;
    if (++channels_ < first_channels_ + channels_at_once_) return;
    channels_ = first_channels_, ++group_;
    skip_empty();
  }

 private:
  const TapStep& step() const { return p_.steps[group().first + step_]; }
  void skip_empty() {
    for (; !ended(); ++group_)
      if (group_ == p_.group_count)
        channels_ = first_channels_ += channels_at_once_, group_ = -1;
      else if (group().steps > 0)
        return;
  }

  const TapProduct& p_;
  std::int64_t channels_at_once_, first_channels_ = 0, channels_ = 0, group_ = 0;
  std::int32_t step_ = 0;
};

// Two positions and two units: a tile is loaded for the next step as soon as this one no longer
// needs it.
template <class Tiles>
inline void add_two_by_two(const TapProduct& p) {
  constexpr std::int64_t bytes = 2 * tile_channels;
  const auto load_left = [&]<int i>(const TapPlace& at) {
    Tiles::template load<4 + i>(at.left(i), 2 * p.a_row);
  };
  const auto load_right = [&]<int i>(const TapPlace& at) {
    Tiles::template load<6 + i>(at.right(i), bytes);
  };
  for (std::int64_t i = 0; i < p.group_count; ++i)
    if (p.groups[i].steps == 0) {
      Tiles::template zero<0>(), Tiles::template zero<1>();
      Tiles::template zero<2>(), Tiles::template zero<3>();
      end_tap_sums<Tiles, 2>(p, p.groups + i);
    }
  TapPlace at(p);
  if (at.ended()) return;
  load_left.template operator()<0>(at), load_right.template operator()<0>(at);
  load_right.template operator()<1>(at), load_left.template operator()<1>(at);
  const TapGroup* before = nullptr;
  for (bool more = true; more;) {
    const bool begins = at.begins_group();
    const TapChange change = at.change(before);
    before = change.group;
    if (begins) change_tap_sum<Tiles, 0, 2>(p, change);
    Tiles::template multiply<0, 4, 6>();
    if (begins) change_tap_sum<Tiles, 1, 2>(p, change);
    Tiles::template multiply<1, 4, 7>();
    at.advance();
    more = !at.ended();
    if (more) load_left.template operator()<0>(at);
    if (begins) change_tap_sum<Tiles, 2, 2>(p, change);
    Tiles::template multiply<2, 5, 6>();
    if (more) load_right.template operator()<0>(at);
    if (begins) change_tap_sum<Tiles, 3, 2>(p, change);
    Tiles::template multiply<3, 5, 7>();
    if (more) load_right.template operator()<1>(at), load_left.template operator()<1>(at);
  }
  end_tap_sums<Tiles, 2>(p, before);
}

template <class Tiles>
inline void add_four_by_one(const TapProduct& p) {
  const std::int64_t rounds = p.by_channels ? p.channel_groups : 1,
                     at_once = p.channel_groups / rounds;
  TapChange change{};
  bool first = true;
  for (std::int64_t round = 0; round < rounds; ++round)
    for (std::int64_t i = 0; i < p.group_count; ++i) {
      const TapStep* steps = p.steps + p.groups[i].first;
      const std::int32_t count = p.groups[i].steps;
      change.group = p.groups + i, change.adds = round > 0;
      if (count == 0) {
        change_tap_sum<Tiles, 0, 1>(p, change);
        change_tap_sum<Tiles, 1, 1>(p, change);
        change_tap_sum<Tiles, 2, 1>(p, change);
        change_tap_sum<Tiles, 3, 1>(p, change);
      }
      for (std::int64_t g = round; g < round + at_once; ++g) {
        const Bf16* a = p.a + g * p.a_group;
        const Bf16* b = p.b + g * p.b_group;
        std::int32_t s = 0;
        if (g == round && count > 0) {
          add_four_taps<Tiles, true>(p, change, a, steps[0], b, first);
          first = !first, s = 1;
        }
        for (; s < count; ++s, first = !first)
          add_four_taps<Tiles, false>(p, change, a, steps[s], b, first);
      }
      change.before = change.group;
    }
  end_tap_sums<Tiles, 1>(p, change.before);
}

template <class Tiles>
void taps_on_tiles(const TapProduct& given) {
  const TapProduct p = given;
  if (p.configures) Tiles::configure(static_cast<int>(p.samples));
  p.across == 2 ? add_two_by_two<Tiles>(p) : add_four_by_one<Tiles>(p);
}

// The same for pairs.
template <class Tiles, int i, int across>
inline float* pair_sum(const PairProduct& p, const PairGroup& group) {
  return group.d + i / across * p.d_next + i % across * 16;
}
template <class Tiles, int i, int across>
inline void change_pair_sum(const PairProduct& p, const PairGroup* before, const PairGroup* next) {
  const std::int64_t stride = 4 * p.d_row;
  if (before) Tiles::template store<i>(pair_sum<Tiles, i, across>(p, *before), stride);
  if (next && p.begins)
    Tiles::template zero<i>();
  else if (next)
    Tiles::template load<i>(pair_sum<Tiles, i, across>(p, *next), stride);
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
inline void change_pair_sums(const PairProduct& p, const PairGroup* before, const PairGroup* next) {
  change_pair_sum<Tiles, 0, across>(p, before, next);
  if constexpr (down * across > 1) change_pair_sum<Tiles, 1, across>(p, before, next);
  if constexpr (down * across > 2) {
    change_pair_sum<Tiles, 2, across>(p, before, next);
    change_pair_sum<Tiles, 3, across>(p, before, next);
  }
}

template <class Tiles, int down, int across>
inline void add_pair_products(const PairProduct& p) {
  const PairGroup* before = nullptr;
  for (std::int64_t i = 0; i < p.group_count; ++i) {
    const PairGroup& group = p.groups[i];
    if (group.count == 0 && !p.begins) continue;
    if (group.count == 0)
      change_pair_sums<Tiles, down, across>(p, before, &group);
    else
      add_pairs_of<Tiles, down, across, true>(p, before, group, group.steps[0]);
    for (std::int64_t s = 1; s < group.count; ++s)
      add_pairs_of<Tiles, down, across, false>(p, before, group, group.steps[s]);
    before = &group;
  }
  change_pair_sums<Tiles, down, across>(p, before, nullptr);
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
