// Products of tiles whose rows are samples (sample_tiles.h). Included after tiles.inl.

constexpr std::int64_t tile_row_bytes = 2 * tile_channels;

// Arguments are read where they are: a copy in larger registers than they were just stored with
// would wait for these stores, and those before them.

// Sums are tiles 0 to 3, a line's tile is 4, and tap t is tile 5 + t % 3: the last position that
// needs tap t - 3 comes first.
template <class Tiles>
class RollingTaps {
 public:
  explicit RollingTaps(const TapProduct& p) : p_(p), fetch_(p.ahead, lines(p)) {}

  // The sums before these are stored while the first tiles are loaded.
  void add(const TapGroup& group, const TapGroup* before) {
    if (group.lines > 0) load_first(line_of(group, 0, 0));
    end<0>(before), Tiles::template zero<0>();
    end<1>(before), Tiles::template zero<1>();
    end<2>(before), Tiles::template zero<2>();
    end<3>(before), Tiles::template zero<3>();
    for (std::int64_t g = 0; g < p_.channel_groups; ++g)
      for (std::int32_t i = 0; i < group.lines; ++i) {
        const Line line = line_of(group, i, g);
        if (g > 0 || i > 0) load_first(line);
        fetch_.next();
        add_line(line);
      }
  }
  void end(const TapGroup* group) const {
    end<0>(group), end<1>(group), end<2>(group), end<3>(group);
  }

 private:
  struct Line {
    const Bf16 *a, *b;
    const std::int32_t* columns;
    std::int64_t step;
    std::int32_t taps, begin, end;
    int positions;
  };

  template <int i>
  void end(const TapGroup* group) const {
    if (group && group->c[i] >= 0) Tiles::template store<i>(p_.c + group->c[i], 4 * p_.c_row);
  }
  Line line_of(const TapGroup& group, std::int32_t i, std::int64_t g) const {
    const TapLine& given = p_.lines[group.first + i];
    return {p_.a + g * p_.a_group,
            p_.b + g * p_.b_group + given.b,
            p_.columns + given.columns,
            p_.b_step,
            given.taps,
            given.begin,
            given.end,
            1 + (group.c[1] >= 0) + (group.c[2] >= 0) + (group.c[3] >= 0)};
  }
  // The first column, and the taps before its own that it meets.
  static void load_first(const Line& line) {
    load_column(line, line.begin);
    for (std::int32_t t = line.begin > 3 ? line.begin - 3 : 0; t < line.begin && t < line.taps; ++t)
      t % 3 == 0 ? load_tap<0>(line, t) : t % 3 == 1 ? load_tap<1>(line, t) : load_tap<2>(line, t);
  }
  static void add_line(const Line& line) {
    for (std::int32_t j = line.begin / 3 * 3; j < line.end; j += 3)
      meet<0>(line, j), meet<1>(line, j + 1), meet<2>(line, j + 2);
  }
  template <int tile>
  static void load_tap(const Line& line, std::int32_t t) {
    Tiles::template load<5 + tile>(line.b + t * line.step, tile_row_bytes);
  }
  static void load_column(const Line& line, std::int32_t j) {
    Tiles::template load<4>(line.a + line.columns[j], tile_row_bytes);
  }
  // Column j, which is `phase` modulo 3. The tile of the tap that no position needs any more takes
  // the next one.
  template <int phase>
  static void meet(const Line& line, std::int32_t j) {
    if (j < line.begin || j >= line.end) return;
    if (j > line.begin) load_column(line, j);
    multiply<3, phase>(line, j);
    if (j < line.taps) load_tap<phase>(line, j);
    multiply<2, phase>(line, j);
    multiply<1, phase>(line, j);
    multiply<0, phase>(line, j);
  }
  template <int i, int phase>
  static void multiply(const Line& line, std::int32_t j) {
    if (i < line.positions && j >= i && j - i < line.taps)
      Tiles::template multiply<i, 4, 5 + (phase + 3 - i) % 3>();
  }

  // Of all groups, or one.
  static std::int64_t lines(const TapProduct& p) {
    if (p.group_count == 0) return 1;
    const TapGroup& last = p.groups[p.group_count - 1];
    const std::int64_t count = p.channel_groups * (last.first + last.lines - p.groups->first);
    return count > 0 ? count : 1;
  }

  const TapProduct& p_;
  Fetch fetch_;
};

// Each sum of a group is stored just before its tile begins the next group's.
template <class Tiles>
void taps_on_tiles(const TapProduct& p) {
  if (p.configures) Tiles::configure(static_cast<int>(p.samples));
  RollingTaps<Tiles> taps(p);
  for (std::int64_t i = 0; i < p.group_count; ++i)
    taps.add(p.groups[i], i > 0 ? p.groups + i - 1 : nullptr);
  if (p.group_count > 0) taps.end(p.groups + p.group_count - 1);
}

// Storing a sum waits until it is complete, so half of them are stored after the next two products
// have begun, and the windows of the chunk before are pooled in between.
template <class Tiles>
class PatchRows {
 public:
  explicit PatchRows(const PatchRow& row) : r_(row) {}

  void run() const {
    PoolTiles before{};  // the chunk that is to be pooled
    bool odd = false;
    Late late{};
    const PatchChunk& last = r_.chunks[r_.chunk_count - 1];
    Fetch fetch(r_.ahead, r_.units * (last.first_group + last.groups));
    for (std::int64_t u = 0; u < r_.units; ++u)
      for (std::int64_t i = 0; i < r_.chunk_count; ++i, odd = !odd) {
        const PatchChunk& chunk = r_.chunks[i];
        float* sums = r_.sums + (odd ? r_.chunk_floats : 0);
        // Steps, but for the first, which stores the last sums of the chunk before.
        PoolSteps pool(before, 2 * chunk.groups - 1);
        for (std::int64_t g = 0; g < chunk.groups; ++g) {
          const PatchGroup& group = r_.groups[chunk.first_group + g];
          fetch.next();
          multiply<0>(group, r_.b + u * r_.b_unit);
          late.store();
          if (g > 0) pool.next();
          multiply<1>(group, r_.b + u * r_.b_unit);
          store<0>(group, sums), store<1>(group, sums);
          late = {&group, sums};
          pool.next();
        }
        before = pooled(u, chunk, sums);
      }
    late.store();
    pool_pieces(before, 0, before.pieces());
  }

 private:
  PoolTiles pooled(std::int64_t u, const PatchChunk& chunk, const float* sums) const {
    PoolTiles p = r_.pool;
    const std::int64_t w = chunk.first_window;
    p.sums = sums, p.windows = chunk.windows;
    if (p.bias) p.bias += u * 16;
    if (p.tiles) {
      p.tiles += u / 2 * r_.tiles_group + u % 2 * 16 + w * tile_size;
      p.clears = u % 2 == 0 && u + 1 == r_.units;
    } else {
      p.out += u * r_.out_unit + w * 16;
    }
    if (p.winner) p.winner += u * r_.out_unit + w * (p.tiles ? tile_floats : 16);
    return p;
  }
  // Sums 2 and 3 of a group.
  struct Late {
    const PatchGroup* group;
    float* sums;
    void store() const {
      if (group) PatchRows::store<2>(*group, sums), PatchRows::store<3>(*group, sums);
    }
  };
  // The products of one patch.
  template <int i>
  void multiply(const PatchGroup& group, const Bf16* b) const {
    Tiles::template zero<2 * i>(), Tiles::template zero<2 * i + 1>();
    for (std::int64_t tile = 0; tile < r_.tiles; ++tile) {
      Tiles::template load<4>(r_.a + group.a[i] + tile * tile_channels, 2 * r_.a_row);
      // Both patches meet the same weights.
      const bool loads = i == 0 || r_.tiles > 1;
      if (loads) Tiles::template load<6>(b + group.b[0] + tile * tile_size, tile_row_bytes);
      Tiles::template multiply<2 * i, 4, 6>();
      if (loads) Tiles::template load<7>(b + group.b[1] + tile * tile_size, tile_row_bytes);
      Tiles::template multiply<2 * i + 1, 4, 7>();
    }
  }
  template <int t>
  static void store(const PatchGroup& group, float* sums) {
    if (group.c[t] >= 0) Tiles::template store<t>(sums + group.c[t], 4 * 16);
  }

  const PatchRow& r_;
};

template <class Tiles>
void patches_on_tiles(const PatchRow& row) {
  if (row.configures) Tiles::configure(static_cast<int>(row.pool.samples));
  PatchRows<Tiles>(row).run();
}

// Sums are tiles 0 to 3, one for each tap; tiles of places 4; pairs of outputs 6 and 7, of either
// row of taps.
template <class Tiles>
class RollingPairs {
 public:
  explicit RollingPairs(const PairLines& p) : p_(p) {}

  void run() const {
    begin<0, 0>(), begin<0, 1>(), begin<1, 0>(), begin<1, 1>();
    for (std::int64_t i = 0; i < p_.line_count; ++i) add(p_.lines[i]);
    if (p_.total) return add_to_total();
    end<0, 0>(), end<0, 1>(), end<1, 0>(), end<1, 1>();
  }

 private:
  template <int i, int j>
  std::int64_t at() const {
    return i * p_.d_down + j * p_.d_across;
  }
  template <int i, int j>
  bool exists() const {
    return i < p_.down && j < p_.across;
  }
  template <int i, int j>
  void begin() const {
    if (!exists<i, j>()) return;
    if (p_.begins)
      Tiles::template zero<2 * i + j>();
    else
      Tiles::template load<2 * i + j>(p_.d + at<i, j>(), 4 * p_.d_row);
  }
  template <int i, int j>
  void end() const {
    if (exists<i, j>()) Tiles::template store<2 * i + j>(p_.d + at<i, j>(), 4 * p_.d_row);
  }

  // All are stored before the first is added, which waits for its store.
  void add_to_total() const {
    alignas(64) float sums[4 * tile_floats];
    Tiles::template store<0>(sums, 64), Tiles::template store<1>(sums + tile_floats, 64);
    Tiles::template store<2>(sums + 2 * tile_floats, 64);
    Tiles::template store<3>(sums + 3 * tile_floats, 64);
    add_sum<0, 0>(sums), add_sum<0, 1>(sums), add_sum<1, 0>(sums), add_sum<1, 1>(sums);
  }
  template <int i, int j>
  void add_sum(const float* sums) const {
    if (!exists<i, j>()) return;
    const float* from = sums + (2 * i + j) * tile_floats;
    float* to = p_.total + at<i, j>();
    for (int r = 0; r < 16; ++r, from += 16, to += p_.d_row) store(to, load(to) + load(from));
  }

  // A place is read by the first tap of a row for its pair, and by the second one for the pair
  // before it.
  void add(const PairLine& line) const {
    const std::int32_t* places = p_.places + line.places;
    for (std::int64_t pair = 0; pair < p_.pairs + p_.across - 1; ++pair) {
      const bool inside = places[pair] >= 0;
      if (inside) Tiles::template load<4>(p_.a + places[pair], tile_row_bytes);
      meet<0>(line, pair, inside);
      meet<1>(line, pair, inside);
    }
  }
  template <int i>
  void meet(const PairLine& line, std::int64_t pair, bool inside) const {
    if (line.b[i] < 0) return;
    if (inside && p_.across > 1 && pair > 0) Tiles::template multiply<2 * i + 1, 4, 6 + i>();
    if (pair == p_.pairs) return;
    Tiles::template load<6 + i>(p_.b + line.b[i] + pair * tile_size, tile_row_bytes);
    if (inside) Tiles::template multiply<2 * i, 4, 6 + i>();
  }

  const PairLines& p_;
};

template <class Tiles>
void pair_lines_on_tiles(const PairLines& p) {
  if (p.configures) Tiles::configure();
  RollingPairs<Tiles>(p).run();
}

// Sums are tiles 0 to 3. With one tile of rows two sums are too few for the latency of a
// multiplication: those of every other step are tiles 2 and 3.
template <class Tiles, int down, int across>
class PairSteps {
 public:
  explicit PairSteps(const PairProduct& p) : p_(p) {}

  void run() const {
    each_sum([&]<int t>(const float* d) {
      if (p_.begins)
        Tiles::template zero<t>();
      else if (!p_.continues)
        Tiles::template load<t>(d, 4 * p_.d_row);
    });
    if constexpr (down == 2) {
      for (std::int64_t s = 0; s < p_.step_count; ++s) add_two(s);
    } else {
      load_right<0>(0), load_right<1>(0);
      for (std::int64_t s = 0; s < p_.step_count; s += 2) {
        add_one<0>(s);
        if (s + 1 < p_.step_count) add_one<1>(s + 1);
      }
    }
    if (!p_.leaves)
      each_sum([&]<int t>(float* d) { Tiles::template store<t>(d, 4 * p_.d_row); });
  }

 private:
  template <class Visit>
  void each_sum(Visit visit) const {
    visit.template operator()<0>(p_.d);
    visit.template operator()<2>(p_.d + p_.d_next);
    if constexpr (across == 2) {
      visit.template operator()<1>(p_.d + 16);
      visit.template operator()<3>(p_.d + p_.d_next + 16);
    }
  }
  template <int i>
  void load_left(std::int64_t s) const {
    if (s < p_.step_count)
      Tiles::template load<4>(p_.a + p_.steps[s].a + (down == 2 ? i * p_.a_next : 0),
                              tile_row_bytes);
  }
  template <int j>
  void load_right(std::int64_t s) const {
    if (j < across && s < p_.step_count)
      Tiles::template load<6 + j>(p_.b + p_.steps[s].b + j * p_.b_next, tile_row_bytes);
  }
  void add_two(std::int64_t s) const {
    load_left<0>(s), load_right<0>(s);
    Tiles::template multiply<0, 4, 6>();
    load_right<1>(s);
    if constexpr (across == 2) Tiles::template multiply<1, 4, 7>();
    load_left<1>(s);
    Tiles::template multiply<2, 4, 6>();
    if constexpr (across == 2) Tiles::template multiply<3, 4, 7>();
  }
  // Tiles are loaded for the next step as soon as this one no longer needs them.
  template <int i>
  void add_one(std::int64_t s) const {
    load_left<0>(s);
    Tiles::template multiply<2 * i, 4, 6>();
    load_right<0>(s + 1);
    if constexpr (across == 2) Tiles::template multiply<2 * i + 1, 4, 7>();
    load_right<1>(s + 1);
  }

  const PairProduct& p_;
};

template <class Tiles>
void pairs_on_tiles(const PairProduct& p) {
  if (p.configures) Tiles::configure();
  if (p.down == 2)
    p.across == 2 ? PairSteps<Tiles, 2, 2>(p).run() : PairSteps<Tiles, 2, 1>(p).run();
  else
    p.across == 2 ? PairSteps<Tiles, 1, 2>(p).run() : PairSteps<Tiles, 1, 1>(p).run();
}
