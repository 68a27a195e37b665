// Pooling of one unit's plane with any overlap; windows are clipped at the borders. Included by
// kernels.inl.

// Calls visit(offset of the output, first and last row and column) for each window.
template <class Visit>
inline void each_window(PoolPlane p, Visit visit) {
  for (std::int64_t y = 0, out = 0; y < p.out_height; ++y) {
    const std::int64_t top = y * p.stride_height - p.pad_top;
    const std::int64_t first_line = top < 0 ? 0 : top;
    const std::int64_t end_line =
        top + p.window_height < p.in_height ? top + p.window_height : p.in_height;
    for (std::int64_t x = 0; x < p.out_width; ++x, out += 16) {
      const std::int64_t left = x * p.stride_width - p.pad_left;
      const std::int64_t end =
          left + p.window_width < p.in_width ? left + p.window_width : p.in_width;
      visit(out, first_line, end_line, left < 0 ? 0 : left, end);
    }
  }
}

void max_pool(const PoolPlane& p, const float* in, float* out, std::int32_t* winners) {
  const std::int64_t width = p.in_width;
  each_window(p, [=](std::int64_t at, std::int64_t top, std::int64_t bottom, std::int64_t left,
                     std::int64_t right) {
    for (int v = 0; v < 16; v += lanes) {
      vec best = load(in + (top * width + left) * 16 + v);
      ivec winner = ivec{} + static_cast<std::int32_t>(top * width + left);
      for (std::int64_t y = top; y < bottom; ++y)
        for (std::int64_t x = left; x < right; ++x) {
          const vec value = load(in + (y * width + x) * 16 + v);
          const ivec wins = value > best;
          best = wins ? value : best;
          winner = wins ? ivec{} + static_cast<std::int32_t>(y * width + x) : winner;
        }
      store(out + at + v, best);
      *reinterpret_cast<ivec_unaligned*>(winners + at + v) = winner;
    }
  });
}

void max_pool_back(const PoolPlane& p, const float* gradient, const std::int32_t* winners,
                   float* to) {
  const std::int64_t width = p.in_width;
  each_window(p, [=](std::int64_t at, std::int64_t top, std::int64_t bottom, std::int64_t left,
                     std::int64_t right) {
    for (int v = 0; v < 16; v += lanes) {
      const vec g = load(gradient + at + v);
      const ivec winner = *reinterpret_cast<const ivec_unaligned*>(winners + at + v);
      for (std::int64_t y = top; y < bottom; ++y)
        for (std::int64_t x = left; x < right; ++x) {
          float* place = to + (y * width + x) * 16 + v;
          const ivec mine = winner == static_cast<std::int32_t>(y * width + x);
          store(place, load(place) + (mine ? g : vec{}));
        }
    }
  });
}

void average_pool(const PoolPlane& p, const float* in, float* out) {
  const std::int64_t width = p.in_width;
  each_window(p, [=](std::int64_t at, std::int64_t top, std::int64_t bottom, std::int64_t left,
                     std::int64_t right) {
    const float size = static_cast<float>((bottom - top) * (right - left));
    for (int v = 0; v < 16; v += lanes) {
      vec sum{};
      for (std::int64_t y = top; y < bottom; ++y)
        for (std::int64_t x = left; x < right; ++x) sum += load(in + (y * width + x) * 16 + v);
      store(out + at + v, sum / size);
    }
  });
}

void average_pool_back(const PoolPlane& p, const float* gradient, float* to) {
  const std::int64_t width = p.in_width;
  each_window(p, [=](std::int64_t at, std::int64_t top, std::int64_t bottom, std::int64_t left,
                     std::int64_t right) {
    const float part = 1 / static_cast<float>((bottom - top) * (right - left));
    for (int v = 0; v < 16; v += lanes) {
      const vec g = load(gradient + at + v) * part;
      for (std::int64_t y = top; y < bottom; ++y)
        for (std::int64_t x = left; x < right; ++x) {
          float* place = to + (y * width + x) * 16 + v;
          store(place, load(place) + g);
        }
    }
  });
}
