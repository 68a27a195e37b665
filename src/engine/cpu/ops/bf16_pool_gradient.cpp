#include "engine/cpu/ops/bf16_pool_gradient.h"

#include <algorithm>

#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

constexpr std::int64_t together = 16;  // windows per kernel call
constexpr std::int64_t beyond = 16;    // what a kernel may write beyond the end of a list
constexpr std::int64_t widest_kernel = 5;
constexpr std::int64_t two_units = 2 * unit;

}  // namespace

bool RoundedWinners::fits(const ConvGeometry& g) {
  return g.bf16 && !g.compact && g.in.units() % 2 == 0 && g.kernel.width <= widest_kernel &&
         g.slots() <= together;
}

RoundedWinners::RoundedWinners(const ConvGeometry& geometry, const ConvInput& input,
                               std::int64_t samples)
    : g_(geometry),
      samples_(samples),
      frame_plane_(input.frame_plane()),
      frame_width_(input.frame_width()),
      windows_(g_.out.positions() / g_.slots()),
      window_offsets_(static_cast<std::size_t>(samples * round_up(windows_, together))),
      slot_offsets_(together) {
  for (std::int64_t i = 0; i < samples_; ++i)
    for (std::int64_t w = 0; w < windows_; ++w)
      window_offsets_[static_cast<std::size_t>(i * round_up(windows_, together) + w)] =
          static_cast<std::int32_t>(2 * (i * frame_plane_ + input.offset(w * g_.slots())));
  for (std::int64_t s = 0; s < g_.slots(); ++s)
    slot_offsets_[static_cast<std::size_t>(s)] = 2 * (input.offset(s) - input.offset(0));
  const std::int64_t positions = together * g_.slots(), channels = g_.columns();
  const std::int64_t winners =
      std::max(unit * (samples_ * windows_ + beyond), positions * (channels + beyond));
  ScratchLayout scratch;
  input_at_ = scratch.add_floats(samples_ * g_.in.units() * frame_plane_ / 2);
  lists_at_ = scratch.add(sizeof(WinnerList) * static_cast<core::Bytes>(std::max(unit, positions)));
  offsets_at_ = scratch.add_floats(winners);
  gradients_at_ = scratch.add_floats(winners);
  scratch_bytes_ = scratch.size();
}

void RoundedWinners::begin_lists(std::byte* scratch, std::int64_t count, std::int64_t most) const {
  auto* lists = reinterpret_cast<WinnerList*>(scratch + lists_at_);
  for (std::int64_t i = 0; i < count; ++i)
    lists[i] = {reinterpret_cast<std::int32_t*>(scratch + offsets_at_) + i * (most + beyond),
                reinterpret_cast<Bf16*>(scratch + gradients_at_) + i * (most + beyond), 0};
}

// To (pairs of input units, kernel lines, output channels, kernel columns, 32).
void RoundedWinners::turn_weights(const Pass& pass, float* to, int part, int parts) const {
  auto* turned = reinterpret_cast<Bf16*>(to);
  const std::int64_t taps = g_.taps(), across = g_.kernel.width;
  const Range units = share(g_.out.units(), part, parts);
  float tile[2][unit * unit];
  for (std::int64_t n = units.begin * unit; n < units.end * unit; n += unit) {
    const std::int64_t panel_first = n / panel * panel,
                       width = std::min(panel, g_.columns() - panel_first);
    const float* weights = pass.weights + g_.weights + panel_first * g_.depth() + n - panel_first;
    for (std::int64_t pair = 0; pair < g_.in.units() / 2; ++pair)
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        for (std::int64_t i = 0; i < 2; ++i)
          pass.kernels->transpose(weights + ((2 * pair + i) * taps + tap) * unit * width, width,
                                  unit, unit, tile[i], unit);
        const std::int64_t line = pair * g_.kernel.height + tap / across;
        for (std::int64_t c = 0; c < unit; ++c)
          pass.bf16->pair_units(
              tile[0] + c * unit, tile[1] + c * unit, 1,
              turned + ((line * g_.columns() + n + c) * across + tap % across) * two_units);
      }
  }
}

// To (pairs of units, samples, positions, 32).
void RoundedWinners::take_input(const Pass& pass, const float* frame, std::int64_t index,
                                std::byte* scratch) const {
  auto* input = reinterpret_cast<Bf16*>(scratch + input_at_) + 2 * index * frame_plane_;
  for (std::int64_t p = 0; p < g_.in.units() / 2; ++p)
    pass.bf16->pair_units(frame + 2 * p * frame_plane_, frame + (2 * p + 1) * frame_plane_,
                          frame_plane_ / unit, input + 2 * p * samples_ * frame_plane_);
}

void RoundedWinners::add_weights(const Pass& pass, std::span<const Sample> samples,
                                 std::byte* scratch, float* weights) const {
  const auto* input = reinterpret_cast<const Bf16*>(scratch + input_at_);
  auto* lists = reinterpret_cast<WinnerList*>(scratch + lists_at_);
  const std::int64_t taps = g_.taps() * unit;
  SparseWeights s{};
  s.kernel_height = g_.kernel.height, s.kernel_width = g_.kernel.width;
  s.line_stride = frame_width_ * two_units;
  for (std::int64_t n = 0; n < g_.columns(); n += unit) {
    begin_lists(scratch, unit, samples_ * windows_);
    const std::int32_t* offsets = window_offsets_.data();
    for (const Sample& sample : samples)
      for (std::int64_t w = 0; w < windows_; w += together, offsets += together) {
        const std::int64_t at = n * windows_ + w * unit;
        pass.bf16->winners_of_channels(
            {sample.gradient + at, sample.winner + at, std::min(together, windows_ - w)}, offsets,
            slot_offsets_.data(), lists);
      }
    for (std::int64_t c = 0; c < unit; ++c) {
      s.pairs = lists[c].pairs();
      s.offsets = lists[c].offsets, s.gradients = lists[c].gradients;
      for (std::int64_t p = 0; s.pairs > 0 && p < g_.in.units() / 2; ++p) {
        s.input = input + 2 * p * samples_ * frame_plane_;
        s.first = weights + (n + c) * g_.depth() + 2 * p * taps, s.second = s.first + taps;
        pass.bf16->sparse_weights(s);
      }
    }
  }
}

void RoundedWinners::add_input(const Pass& pass, const Sample& sample, const float* turned,
                               std::byte* scratch, float* frame_gradient) const {
  const auto* weights = reinterpret_cast<const Bf16*>(turned);
  auto* lists = reinterpret_cast<WinnerList*>(scratch + lists_at_);
  const auto of_channel = static_cast<std::int32_t>(g_.kernel.width * two_units);
  // Two adjacent positions in a window, if it is that wide.
  const std::int64_t step = g_.pool.width % 2 == 0 ? 2 : 1;
  const auto winners = [](const WinnerList& list) {
    return SparseData::Winners{pieces(list.count, 2), list.offsets, list.gradients};
  };
  SparseData s{};
  s.kernel_width = g_.kernel.width;
  for (std::int64_t w = 0; w < windows_; w += together) {
    const std::int64_t windows = std::min(together, windows_ - w), positions = windows * g_.slots();
    begin_lists(scratch, positions, g_.columns());
    for (std::int64_t n = 0; n < g_.columns(); n += unit) {
      const std::int64_t at = n * windows_ + w * unit;
      pass.bf16->winners_of_positions({sample.gradient + at, sample.winner + at, windows},
                                      g_.slots(), static_cast<std::int32_t>(n) * of_channel,
                                      of_channel, lists);
    }
    for (std::int64_t i = 0; i < positions; ++i) lists[i].pairs();
    for (std::int64_t p = 0; p < g_.in.units() / 2; ++p)
      for (std::int64_t line = 0; line < g_.kernel.height; ++line) {
        s.weights = weights + (p * g_.kernel.height + line) * g_.columns() * of_channel;
        float* first = frame_gradient + 2 * p * frame_plane_ + line * frame_width_ * unit;
        for (std::int64_t i = 0; i < positions; i += step) {
          s.here = winners(lists[i]);
          if (step == 2) s.right = winners(lists[i + 1]);
          if (s.here.pairs + s.right.pairs == 0) continue;
          const std::int64_t at = window_offsets_[static_cast<std::size_t>(w + i / g_.slots())] +
                                  slot_offsets_[static_cast<std::size_t>(i % g_.slots())];
          s.first = first + at / 2, s.second = s.first + frame_plane_;
          pass.bf16->sparse_data(s);
        }
      }
  }
}

}  // namespace sweetspot::engine::cpu
