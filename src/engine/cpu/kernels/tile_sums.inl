// Sums of tiles that are added later (sample_tiles.h). Included after vectors.inl.

// Rows of complete sums, from the first that is left on.
inline void add_sum_rows(TileSums& sums, std::int64_t count) {
  for (; count > 0 && sums.left > 0; --count, --sums.left) {
    const int r = TileSums::rows - sums.left, t = r / 16;
    if (!sums.exists[t]) continue;
    float* to = sums.to + t / 2 * sums.down + t % 2 * sums.across + r % 16 * sums.row;
    store(to, load(to) + load(sums.sums + r * 16));
  }
}
