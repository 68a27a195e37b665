#include "engine/cpu/ops/conv_direct.h"

#include <algorithm>
#include <array>

#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// A register of 16 outputs would be mostly zeros.
constexpr std::int64_t few_outputs = 10;

}  // namespace

DirectConv::DirectConv(const ConvGeometry& geometry)
    : g_(geometry), chunk_(rows_at_once(g_)), input_(g_, row_major(g_.out), chunk_) {
  if (!g_.compact)
    runs_.emplace(g_.in.channels, g_.kernel.height, g_.kernel.width, input_.frame_width() * unit,
                  input_.frame_plane());
  ScratchLayout scratch;
  scratch.add(input_.scratch_bytes());
  const std::int64_t pairs =
      g_.compact ? pieces(chunk_, 2) : g_.out.height * pieces(g_.out.width, 2);
  const std::int64_t rows =
      g_.compact ? pairs * 2 * g_.depth() : 2 * (input_.frame_numbers() + unit);
  rounded_at_ = scratch.add(
      g_.bf16 ? std::max(input_.rounded_bytes(), static_cast<core::Bytes>(rows) * sizeof(Bf16))
              : 0);
  gradients_at_ = scratch.add_floats(g_.bf16 ? g_.columns() * pairs : 0);
  scratch_bytes_ = scratch.size();
  for (std::int64_t y = 0; g_.bf16 && !g_.compact && y < g_.out.height; ++y)
    for (std::int64_t x = 0; x < g_.out.width; x += 2)
      pair_offsets_.push_back(2 * input_.offset(y * g_.out.width + x));
}

template <class Operand, class Kernel>
void DirectConv::multiply(const Pass& pass, const Operand* frame, const Operand* weights,
                          std::int64_t depth, Kernel kernel, float* to) const {
  Product<Operand> m{};
  input_.point(m, frame, 0, g_.out.positions());
  m.relu = g_.relu;
  m.c_row_stride = unit, m.c_unit_stride = g_.out.plane();
  for (std::int64_t n = 0; n < g_.columns(); n += panel) {
    m.b = weights + n * depth;
    m.width = std::min(panel, g_.columns() - n);
    m.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
    m.c = to + n / unit * g_.out.plane();
    kernel(m);
  }
}

void DirectConv::forward(const Pass& pass, const float* from, const float* rounded,
                         std::byte* scratch, float* to) const {
  const float* frame = input_.frame(from, scratch);
  if (!g_.bf16)
    return multiply<float>(
        pass, frame, pass.weights + g_.weights, g_.depth(),
        [&](const Multiply& m) {
          runs_ ? runs_->multiply(*pass.kernels, m) : pass.kernels->multiply(m);
        },
        to);
  auto* rounded_frame = reinterpret_cast<Bf16*>(scratch + rounded_at_);
  pass.bf16->round(frame, input_.frame_numbers(), rounded_frame);
  multiply<Bf16>(pass, rounded_frame, reinterpret_cast<const Bf16*>(rounded),
                 input_.rounded_depth(), pass.bf16->multiply, to);
}

void DirectConv::add_weights(const Pass& pass, const float* from, const float* gradient,
                             std::byte* scratch, float* weights) const {
  const float* frame = input_.frame(from, scratch);
  if (g_.bf16) return add_rounded_weights(pass, frame, gradient, scratch, weights);
  if (g_.compact && g_.out.channels <= few_outputs)
    return add_weights_of_few(pass, frame, gradient, scratch, weights);
  for (std::int64_t first = 0; first < g_.out.positions(); first += chunk_) {
    Outer o{};
    o.rows = std::min(chunk_, g_.out.positions() - first);
    o.g_row_stride = unit, o.g_unit_stride = g_.out.plane(), o.accumulate = true;
    const float* patches = g_.compact ? input_.patches(frame, scratch, first, o.rows) : nullptr;
    for (std::int64_t n = 0; n < g_.columns(); n += panel) {
      o.width = std::min(panel, g_.columns() - n);
      o.g = gradient + n / unit * g_.out.plane() + first * unit;
      o.d = weights + n * g_.depth();
      if (patches) {
        o.a = patches, o.row_stride = g_.depth(), o.depth = g_.depth();
        pass.kernels->outer(o);
        continue;
      }
      o.row_offsets = input_.row_offsets() + first;
      runs_->outer(*pass.kernels, o, frame);
    }
  }
}

// With the gradients as rows of the result: its registers hold inputs, which are contiguous, not a
// few outputs and zeros.
void DirectConv::add_weights_of_few(const Pass& pass, const float* frame, const float* gradient,
                                    std::byte* scratch, float* weights) const {
  const std::int64_t outputs = g_.out.channels, depth = g_.depth();
  std::array<float, few_outputs * panel> sums;
  for (std::int64_t first = 0; first < g_.out.positions(); first += chunk_) {
    Outer o{};
    o.rows = std::min(chunk_, g_.out.positions() - first);
    o.a = gradient + first * unit, o.row_stride = unit, o.depth = outputs;
    o.g_row_stride = depth, o.g_unit_stride = unit, o.d = sums.data();
    const float* patches = input_.patches(frame, scratch, first, o.rows);
    for (std::int64_t k = 0; k < depth; k += panel) {
      o.g = patches + k, o.width = std::min(panel, depth - k);
      pass.kernels->outer(o);
      for (std::int64_t i = 0; i < o.width; ++i)
        for (std::int64_t n = 0; n < outputs; ++n)
          weights[(k + i) * unit + n] += sums[static_cast<std::size_t>(n * o.width + i)];
    }
  }
}

void DirectConv::add_rounded_weights(const Pass& pass, const float* frame, const float* gradient,
                                     std::byte* scratch, float* weights) const {
  auto* inputs = reinterpret_cast<Bf16*>(scratch + rounded_at_);
  auto* gradients = reinterpret_cast<Bf16*>(scratch + gradients_at_);
  OuterProduct<Bf16> o{};
  o.accumulate = true, o.g_row_stride = 2 * unit;
  const auto each_panel = [&](auto multiply) {
    for (std::int64_t n = 0; n < g_.columns(); n += panel) {
      o.width = std::min(panel, g_.columns() - n);
      o.g = gradients + n / unit * o.g_unit_stride;
      o.d = weights + n * g_.depth();
      multiply();
    }
  };
  if (g_.compact) {
    for (std::int64_t first = 0; first < g_.out.positions(); first += chunk_) {
      const std::int64_t rows = std::min(chunk_, g_.out.positions() - first);
      o.rows = pieces(rows, 2), o.g_unit_stride = o.rows * 2 * unit;
      pass.bf16->pair_rows(input_.patches(frame, scratch, first, rows), g_.depth(), rows,
                           g_.depth(), inputs, 2 * g_.depth());
      for (std::int64_t u = 0; u < g_.out.units(); ++u)
        pass.bf16->pair_rows(gradient + u * g_.out.plane() + first * unit, unit, rows, unit,
                             gradients + u * o.g_unit_stride, 2 * unit);
      o.a = inputs, o.row_stride = 2 * g_.depth(), o.depth = g_.depth();
      each_panel([&] { pass.bf16->outer(o); });
    }
    return;
  }
  // The last positions have no neighbour, and are multiplied with a zero gradient there.
  const std::int64_t numbers = input_.frame_numbers(),
                     moved = g_.out.width > 1 ? g_.strides.width * unit : 0;
  pass.bf16->pair(frame, frame + moved, numbers - moved, inputs);
  pass.bf16->pair(frame + numbers - moved, frame, moved, inputs + 2 * (numbers - moved));
  o.rows = static_cast<std::int64_t>(pair_offsets_.size()), o.row_offsets = pair_offsets_.data();
  o.depth = g_.kernel.width * unit, o.g_unit_stride = o.rows * 2 * unit;
  for (std::int64_t u = 0; u < g_.out.units(); ++u)
    for (std::int64_t y = 0; y < g_.out.height; ++y)
      pass.bf16->pair_rows(
          gradient + u * g_.out.plane() + y * g_.out.width * unit, unit, g_.out.width, unit,
          gradients + u * o.g_unit_stride + y * pieces(g_.out.width, 2) * 2 * unit, 2 * unit);
  each_panel([&] {
    for (const std::int32_t segment : input_.segment_offsets()) {
      o.a = inputs + 2 * segment;
      pass.bf16->outer(o);
      o.d += o.depth * o.width;
    }
  });
}

}  // namespace sweetspot::engine::cpu
