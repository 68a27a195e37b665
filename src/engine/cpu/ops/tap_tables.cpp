#include "engine/cpu/ops/tap_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

namespace sweetspot::engine::cpu {
namespace {

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

// The tiles of one tap at up to four positions; negative: zeros, or none.
using Few = std::array<std::int64_t, 4>;
constexpr Few nowhere{-1, -1, -1, -1};

// A tap that meets none of them is left out.
void add_step(TapTables::Products& products, const Few& at, std::int64_t zeros, std::int64_t tap) {
  if (at == nowhere) return;
  TapStep step{};
  for (std::size_t i = 0; i < at.size(); ++i)
    step.a[i] = narrow((at[i] < 0 ? zeros : at[i]) * tile_size);
  step.b = narrow(tap * tile_size);
  products.steps.push_back(step);
  products.most_steps = std::max(products.most_steps, ++products.groups.back().steps);
}

void begin_group(TapTables::Products& products, const Few& sums) {
  TapGroup group{narrow(std::ssize(products.steps)), 0, {}};
  for (std::size_t i = 0; i < sums.size(); ++i) group.c[i] = narrow(sums[i]);
  products.groups.push_back(group);
}

Few sums_of_outputs(std::int64_t first, std::int64_t count, std::int64_t sums_of) {
  Few sums = nowhere;
  for (std::int64_t i = 0; first + i < count; ++i)
    sums[static_cast<std::size_t>(i)] = (first + i) % sums_of * tile_floats;
  return sums;
}

class Taps {
 public:
  Taps(const ConvGeometry& g, const std::vector<std::int32_t>& outputs, std::int64_t place_floats)
      : g_(g), outputs_(outputs), place_floats_(place_floats), index_(outputs.size()) {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      index_[static_cast<std::size_t>(outputs[i])] = narrow(static_cast<std::int64_t>(i));
  }

  // The place that a tap reads for an output; negative: padding.
  std::int64_t place(std::int64_t output, std::int64_t ky, std::int64_t kx) const {
    const std::int64_t y = output / g_.out.width * g_.strides.height + ky - g_.pad_top;
    const std::int64_t x = output % g_.out.width * g_.strides.width + kx - g_.pad_left;
    const bool inside = y >= 0 && y < g_.in.height && x >= 0 && x < g_.in.width;
    return inside ? y * g_.in.width + x : -1;
  }
  // The output for which a tap reads this place, in the order of outputs; negative: none.
  std::int64_t output(std::int64_t y, std::int64_t x, std::int64_t ky, std::int64_t kx) const {
    const std::int64_t down = y + g_.pad_top - ky, across = x + g_.pad_left - kx;
    if (down < 0 || across < 0 || down % g_.strides.height != 0 || across % g_.strides.width != 0)
      return -1;
    const std::int64_t oy = down / g_.strides.height, ox = across / g_.strides.width;
    if (oy >= g_.out.height || ox >= g_.out.width) return -1;
    return index_[static_cast<std::size_t>(oy * g_.out.width + ox)];
  }

  // Groups of `size` outputs.
  void forward(TapTables::Products& to, std::int64_t size, std::int64_t sums_of) const {
    const std::int64_t count = std::ssize(outputs_);
    for (std::int64_t first = 0; first < count; first += size) {
      const std::int64_t end = std::min(first + size, count);
      begin_group(to, sums_of_outputs(first, end, sums_of));
      each_tap([&](std::int64_t tap, std::int64_t ky, std::int64_t kx) {
        Few at = nowhere;
        for (std::int64_t i = 0; first + i < end; ++i)
          at[static_cast<std::size_t>(i)] =
              place(outputs_[static_cast<std::size_t>(first + i)], ky, kx);
        add_step(to, at, g_.in.positions(), tap);
      });
    }
  }

  // Places of the same phase of the stride meet the same taps; 2×2, or 1×2, of them are a group.
  void input_gradient(TapTables::Products& to, std::int64_t rows) const {
    const std::int64_t down = g_.strides.height, across = g_.strides.width;
    for (std::int64_t py = 0; py < down; ++py)
      for (std::int64_t px = 0; px < across; ++px)
        for (std::int64_t y = py; y < g_.in.height; y += rows * down)
          for (std::int64_t x = px; x < g_.in.width; x += 2 * across)
            group_of_places(to, rows, y, x);
  }

  void weight_gradient(TapTables& to) const {
    for (std::int64_t y = 0; y < g_.out.height; ++y)
      for (std::int64_t x = 0; x < g_.out.width; x += 2)
        to.output_pairs.push_back({output_at(y, x), output_at(y, x + 1)});
    // Pairs of outputs begin at every other one, two strides apart.
    for (std::int64_t phase = 0; phase < 2 * g_.strides.width; ++phase)
      each_tap([&](std::int64_t tap, std::int64_t, std::int64_t kx) {
        if (kx % (2 * g_.strides.width) == phase) to.tap_order.push_back(tap);
      });
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> found;
    each_tap([&](std::int64_t, std::int64_t ky, std::int64_t kx) {
      std::vector<PairStep>& steps = to.pair_steps.emplace_back();
      for (std::size_t i = 0; i < to.output_pairs.size(); ++i) {
        const PlacePair& pair = to.output_pairs[i];
        const std::int64_t first = place(outputs_[static_cast<std::size_t>(pair.first)], ky, kx);
        const std::int64_t second =
            pair.second < 0 ? -1 : place(outputs_[static_cast<std::size_t>(pair.second)], ky, kx);
        if (first < 0 && second < 0) continue;
        const auto [known, is_new] = found.try_emplace({first, second}, std::ssize(to.place_pairs));
        if (is_new) to.place_pairs.push_back({narrow(first), narrow(second)});
        steps.push_back(
            {narrow(known->second * tile_size), narrow(static_cast<std::int64_t>(i) * tile_size)});
      }
    });
  }

 private:
  template <class Visit>
  void each_tap(Visit visit) const {
    for (std::int64_t ky = 0, tap = 0; ky < g_.kernel.height; ++ky)
      for (std::int64_t kx = 0; kx < g_.kernel.width; ++kx, ++tap) visit(tap, ky, kx);
  }

  void group_of_places(TapTables::Products& to, std::int64_t rows, std::int64_t y,
                       std::int64_t x) const {
    std::array<std::pair<std::int64_t, std::int64_t>, 4> places;
    Few sums = nowhere;
    const auto size = static_cast<std::size_t>(2 * rows);
    for (std::size_t i = 0; i < size; ++i) {
      places[i] = {y + static_cast<std::int64_t>(i / 2) * g_.strides.height,
                   x + static_cast<std::int64_t>(i % 2) * g_.strides.width};
      if (places[i].first < g_.in.height && places[i].second < g_.in.width)
        sums[i] = (places[i].first * g_.in.width + places[i].second) * place_floats_;
    }
    begin_group(to, sums);
    each_tap([&](std::int64_t tap, std::int64_t ky, std::int64_t kx) {
      Few at = nowhere;
      for (std::size_t i = 0; i < size; ++i)
        if (sums[i] >= 0) at[i] = output(places[i].first, places[i].second, ky, kx);
      add_step(to, at, std::ssize(outputs_), tap);
    });
  }

  std::int32_t output_at(std::int64_t y, std::int64_t x) const {
    return x < g_.out.width ? index_[static_cast<std::size_t>(y * g_.out.width + x)] : -1;
  }

  const ConvGeometry& g_;
  const std::vector<std::int32_t>& outputs_;
  std::int64_t place_floats_;
  std::vector<std::int32_t> index_;  // of each position in the order of outputs
};

}  // namespace

TapTables tap_tables(const ConvGeometry& geometry, const std::vector<std::int32_t>& outputs,
                     std::int64_t sums_of, std::int64_t place_floats) {
  TapTables tables;
  const Taps taps(geometry, outputs, place_floats);
  if (geometry.out.units() > 1) taps.forward(tables.forward.pairs, 2, sums_of);
  if (geometry.out.units() % 2 == 1) taps.forward(tables.forward.fours, 4, sums_of);
  if (geometry.in.units() > 1) taps.input_gradient(tables.input_gradient.pairs, 1);
  if (geometry.in.units() % 2 == 1) taps.input_gradient(tables.input_gradient.fours, 2);
  taps.weight_gradient(tables);
  return tables;
}

}  // namespace sweetspot::engine::cpu
