#include "engine/cpu/ops/conv_on_tiles.h"

#include <algorithm>
#include <numeric>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_input.h"
#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/tap_tables.h"
#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Fewer samples leave most of a tile empty.
constexpr std::int64_t least_samples = 8;
// Floats of a sample's image: 16 of them, in bf16 and in each layout, are 2 MiB.
constexpr std::int64_t most_floats = 64 * 1024;
// Outputs of a first layer whose patches are packed at once, so that they stay in the L2 cache.
constexpr std::int64_t patch_outputs = 128;
// Sums that stay in the L1 cache until they are pooled, and pairs of outputs whose gradients stay
// there from tap to tap.
constexpr std::int64_t sum_tiles = 16, cached_pairs = 16;

// Windows whose outputs fill whole groups of four.
std::int64_t windows_of_sums(std::int64_t slots) {
  const std::int64_t least = 4 / std::gcd(slots, std::int64_t{4});
  return least * std::max<std::int64_t>(1, sum_tiles / (slots * least));
}

// Channels as the tiles see them: those of the input at each tap, or of a first layer's patches,
// where all taps are channels of one.
struct TileShape {
  explicit TileShape(const ConvGeometry& g)
      : taps(g.raw_input ? 1 : g.taps()),
        in_units(g.raw_input ? g.depth() / unit : g.in.units()),
        in_groups(pieces(in_units, 2)),
        out_units(g.out.units()),
        out_groups(pieces(out_units, 2)) {}
  std::int64_t forward_tiles() const { return out_units * in_groups * taps; }
  std::int64_t turned_tiles() const { return in_units * out_groups * taps; }

  std::int64_t taps, in_units, in_groups, out_units, out_groups;
};

class ConvOnTiles final : public Op {
 public:
  ConvOnTiles(std::string name, const ConvGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        shape_(g_),
        pooled_(g_.slots() > 1),
        windows_(g_.out.positions() / g_.slots()),
        chunk_(g_.raw_input
                   ? std::clamp<std::int64_t>(patch_outputs / g_.slots(), 1, windows_)
                   : windows_),
        sum_windows_(windows_of_sums(g_.slots())),
        input_(g_, window_major(g_), 0) {
    const std::int64_t sums_of = sum_windows_ * g_.slots();
    if (g_.raw_input) {
      layout_ = {shape_.in_groups * tile_channels, tile_samples * shape_.in_groups * tile_channels,
                 tile_channels};
      tables_ = patch_tables(chunk_ * g_.slots(), layout_.place, sums_of);
      last_tables_ =
          patch_tables((windows_ - 1) % chunk_ * g_.slots() + g_.slots(), layout_.place, sums_of);
    } else {
      layout_ = {tile_channels, tile_size, (g_.in.positions() + 1) * tile_size};
      tables_ = tap_tables(g_, window_major(g_), sums_of);
    }
    const std::int64_t outputs = chunk_ * g_.slots();
    out_layout_ = {tile_channels, tile_size, (outputs + 1) * tile_size};
    kept.bytes = pooled_ ? aligned(static_cast<core::Bytes>(out->extent.floats())) : 0;
    ScratchLayout scratch;
    input_at_ = add_numbers(scratch, g_.raw_input ? outputs * layout_.place + tile_channels
                                                  : shape_.in_groups * layout_.group);
    frames_at_ = add_numbers(scratch, g_.raw_input ? tile_samples * frame_stride() : 0);
    sums_at_ = scratch.add_floats(sums_of * tile_floats);
    outputs_at_ = add_numbers(scratch, shape_.out_groups * out_layout_.group);
    turned_at_ = add_tiles(scratch, shape_.in_units * std::ssize(tables_.place_pairs));
    pairs_at_ = add_tiles(scratch, shape_.out_units * std::ssize(tables_.output_pairs));
    working.bytes = scratch.size();
    temporary.bytes = input_.scratch_bytes();
    slot_floats = g_.columns() * (g_.depth() + 1);
    shared_floats = (shape_.forward_tiles() + (g_.raw_input ? 0 : shape_.turned_tiles())) *
                    tile_size / 2;
  }

  std::string method() const override {
    return std::string(g_.relu ? "convolution and ReLU" : "convolution") +
           (pooled_ ? " with max pooling" : "") + " of samples side by side in bf16";
  }
  bool keeps_input() const override { return true; }
  bool keeps_output() const override { return g_.relu && !pooled_; }
  std::int64_t samples_at_once() const override { return tile_samples; }
  std::int64_t block() const override { return tile_samples; }

  void forward_some(const Pass& pass, const Range& samples, int thread) override {
    const Block block(*this, pass, samples, thread);
    take_input(block);
    for (std::int64_t w = 0; w < windows_; w += chunk_) {
      if (g_.raw_input) take_patches(block, w);
      multiply(block, w);
    }
  }

  void backward_some(const Pass& pass, const SlotPart& part, int thread) override {
    const Block block(*this, pass, part.samples, thread);
    float* weights = slot(pass, part.slot);
    for (std::int64_t s = part.samples.begin; s < part.samples.end; ++s)
      add_bias(pass, s, thread, weights + g_.columns() * g_.depth());
    take_input(block);
    for (std::int64_t w = 0; w < windows_; w += chunk_) {
      if (g_.raw_input) take_patches(block, w);
      take_gradients(block, w);
      add_weights(block, w, weights);
    }
    if (wants_input_gradient) make_input_gradient(block);
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    const Range forward = share(shape_.forward_tiles(), part, parts);
    for (std::int64_t i = forward.begin; i < forward.end; ++i) round_tile(pass, i);
    if (!wants_input_gradient || g_.raw_input || !pass.training) return;
    const Range turned = share(shape_.turned_tiles(), part, parts);
    for (std::int64_t i = turned.begin; i < turned.end; ++i) turn_tile(pass, i);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    const std::int64_t bias = g_.columns() * g_.depth();
    gather_slots(pass, slot(pass, 0), 0, bias, pass.gradients + g_.weights, part, parts);
    if (g_.bias)
      gather_slots(pass, slot(pass, 0), bias, g_.columns(), pass.gradients + *g_.bias, part, parts);
  }

 private:
  // Samples that are processed together, and their memory. They begin at a multiple of 16, so that
  // their tensors follow one another also in a thread's scratch.
  struct Block {
    Block(const ConvOnTiles& op, const Pass& given, const Range& range, int member)
        : pass(given),
          first(range.begin),
          samples(range.end - range.begin),
          thread(member),
          memory(given.at<std::byte>(op.working, 0, member)) {}
    Bf16* numbers(core::Bytes at) const { return reinterpret_cast<Bf16*>(memory + at); }
    float* of(const Allocation& allocation) const { return pass.at(allocation, first, thread); }

    const Pass& pass;
    std::int64_t first, samples;
    int thread;
    std::byte* memory;
  };
  static std::int64_t floats_between(const Allocation& allocation) {
    return static_cast<std::int64_t>(allocation.bytes / sizeof(float));
  }

  static core::Bytes add_numbers(ScratchLayout& scratch, std::int64_t count) {
    return scratch.add(static_cast<core::Bytes>(count) * sizeof(Bf16));
  }
  static core::Bytes add_tiles(ScratchLayout& scratch, std::int64_t count) {
    return add_numbers(scratch, count * tile_size);
  }
  // A copy of a line may read a register's numbers beyond its end.
  std::int64_t frame_stride() const {
    return round_up(input_.frame_numbers() + tile_channels, tile_channels);
  }

  std::int64_t windows_from(std::int64_t w) const { return std::min(chunk_, windows_ - w); }
  const TapTables& tables(std::int64_t w) const {
    return g_.raw_input && w + chunk_ >= windows_ ? last_tables_ : tables_;
  }
  Bf16* forward_weights(const Pass& pass) const {
    return reinterpret_cast<Bf16*>(pass.shared + shared_offset);
  }
  Bf16* turned_weights(const Pass& pass) const {
    return forward_weights(pass) + shape_.forward_tiles() * tile_size;
  }

  static void clear_place(Bf16* numbers, const SampleLayout& layout, std::int64_t place,
                          std::int64_t groups) {
    for (std::int64_t i = 0; i < groups; ++i)
      std::fill_n(numbers + i * layout.group + place * layout.place, tile_size, Bf16{});
  }

  void take_input(const Block& block) const {
    if (!g_.raw_input) {
      Bf16* to = block.numbers(input_at_);
      block.pass.bf16->side_by_side.side_by_side(
          {block.of(in_->value), floats_between(in_->value), g_.in.plane(), g_.in.positions(),
           g_.in.units(), block.samples},
          to, layout_.group);
      clear_place(to, layout_, g_.in.positions(), shape_.in_groups);
      return;
    }
    std::byte* scratch = block.pass.at<std::byte>(temporary, 0, block.thread);
    for (std::int64_t s = 0; s < block.samples; ++s) {
      const float* image = block.pass.inputs + (block.first + s) * g_.input.size();
      block.pass.bf16->round(input_.frame(image, scratch), input_.frame_numbers(),
                             block.numbers(frames_at_) + s * frame_stride());
    }
  }

  void take_patches(const Block& block, std::int64_t w) const {
    PatchPlaces p{};
    p.frames = block.numbers(frames_at_), p.frame_stride = frame_stride();
    p.line_stride = input_.frame_width() * g_.in.channels;
    p.offsets = input_.row_offsets() + w * g_.slots(), p.places = windows_from(w) * g_.slots();
    p.lines = g_.kernel.height, p.run = g_.kernel.width * g_.in.channels;
    p.samples = block.samples, p.to = block.numbers(input_at_), p.row = layout_.row;
    block.pass.bf16->side_by_side.patches(p);
  }

  // The outputs of windows from w on.
  void multiply(const Block& block, std::int64_t w) const {
    const TapTables::Products& products = tables(w).forward;
    auto* sums = reinterpret_cast<float*>(block.memory + sums_at_);
    const std::int64_t windows = windows_from(w), groups = sum_windows_ * g_.slots() / 4;
    TapProduct p{};
    p.a = block.numbers(input_at_), p.a_row = layout_.row, p.a_group = layout_.group;
    p.b_group = shape_.taps * tile_size, p.channel_groups = shape_.in_groups;
    p.steps = products.steps.data(), p.samples = block.samples;
    p.c = sums, p.c_row = unit;
    PoolTiles pool{};
    pool.sums = sums, pool.slots = g_.slots(), pool.samples = block.samples, pool.relu = g_.relu;
    pool.out_stride = floats_between(out_->value);
    pool.winner_stride = static_cast<std::int64_t>(kept.bytes);
    for (std::int64_t u = 0; u < shape_.out_units; ++u) {
      p.b = forward_weights(block.pass) + u * shape_.in_groups * p.b_group;
      pool.bias = g_.bias ? block.pass.weights + *g_.bias + u * unit : nullptr;
      for (std::int64_t done = 0; done < windows; done += sum_windows_) {
        const std::int64_t first = done / sum_windows_ * groups;
        p.groups = products.groups.data() + first;
        p.group_count = std::min(groups, std::ssize(products.groups) - first);
        block.pass.bf16->sample_tiles.taps(p);
        const std::int64_t at = (u * windows_ + w + done) * unit;
        pool.windows = std::min(sum_windows_, windows - done);
        pool.out = block.of(out_->value) + at;
        pool.winner = pooled_
                          ? block.pass.at<std::uint8_t>(kept, block.first, block.thread) + at
                          : nullptr;
        block.pass.bf16->side_by_side.pool(pool);
      }
    }
  }

  // Applies the masks of pooling and ReLU to the gradient of one sample.
  void add_bias(const Pass& pass, std::int64_t sample, int thread, float* bias) const {
    float* gradient = pass.at(out_->gradient, sample, thread);
    if (!pooled_)
      return add_bias_gradient(pass, g_.out, g_.relu ? pass.at(out_->value, sample, thread) : nullptr,
                               gradient, bias);
    const auto* winner = pass.at<std::uint8_t>(kept, sample, thread);
    for (std::int64_t u = 0; u < shape_.out_units; ++u)
      pass.kernels->mask_gradients(gradient + u * windows_ * unit, winner + u * windows_ * unit,
                                   windows_, bias + u * unit);
  }

  void take_gradients(const Block& block, std::int64_t w) const {
    const SampleTileKernels& kernels = block.pass.bf16->side_by_side;
    Bf16* to = block.numbers(outputs_at_);
    const std::int64_t windows = windows_from(w);
    const UnitImages images{block.of(out_->gradient) + w * unit, floats_between(out_->gradient),
                            windows_ * unit, windows, shape_.out_units, block.samples};
    if (pooled_)
      kernels.winners_side_by_side(
          images,
          {block.pass.at<std::uint8_t>(kept, block.first, block.thread) + w * unit,
           static_cast<std::int64_t>(kept.bytes), g_.slots()},
          to, out_layout_.group);
    else
      kernels.side_by_side(images, to, out_layout_.group);
    clear_place(to, out_layout_, windows * g_.slots(), shape_.out_groups);
  }

  void add_weights(const Block& block, std::int64_t w, float* weights) const {
    const SampleTileKernels& kernels = block.pass.bf16->side_by_side;
    const TapTables& t = tables(w);
    PairPlaces turned{block.numbers(input_at_), layout_,          t.place_pairs.data(),
                      std::ssize(t.place_pairs), shape_.in_groups, shape_.in_units,
                      block.samples,             block.numbers(turned_at_)};
    kernels.turn_places(turned);
    PairPlaces pairs{block.numbers(outputs_at_), out_layout_,       t.output_pairs.data(),
                     std::ssize(t.output_pairs), shape_.out_groups, shape_.out_units,
                     block.samples,              block.numbers(pairs_at_)};
    kernels.pair_places(pairs);
    PairProduct p{};
    p.a_next = turned.count * tile_size, p.b_next = pairs.count * tile_size;
    const std::int64_t at_once = shape_.taps > 1 ? cached_pairs : pairs.count;
    for (std::int64_t first = 0; first < pairs.count; first += at_once)
      for (std::int64_t n = 0; n < shape_.out_units; n += 2) {
        p.b = pairs.to + n * p.b_next, p.across = n + 1 < shape_.out_units ? 2 : 1;
        for (std::int64_t tap = 0; tap < shape_.taps; ++tap) {
          const std::vector<PairStep>& steps = t.pair_steps[static_cast<std::size_t>(tap)];
          p.steps = steps.data() + first;
          p.count = std::min(at_once, std::ssize(steps) - first);
          if (p.count <= 0) continue;
          for (std::int64_t u = 0; u < shape_.in_units; u += 2) {
            p.a = turned.to + u * p.a_next, p.down = u + 1 < shape_.in_units ? 2 : 1;
            const WeightTile tile = weight_tile(u, tap, n);
            p.d = weights + tile.at, p.d_row = tile.width;
            p.d_next = shape_.taps * unit * tile.width;
            block.pass.bf16->sample_tiles.pairs(p);
          }
        }
      }
  }

  void make_input_gradient(const Block& block) const {
    TapProduct p{};
    p.a = block.numbers(outputs_at_), p.a_row = out_layout_.row, p.a_group = out_layout_.group;
    p.b_group = shape_.taps * tile_size, p.channel_groups = shape_.out_groups;
    p.steps = tables_.input_gradient.steps.data();
    p.groups = tables_.input_gradient.groups.data();
    p.group_count = std::ssize(tables_.input_gradient.groups), p.samples = block.samples;
    p.c_row = floats_between(in_->gradient);
    for (std::int64_t u = 0; u < shape_.in_units; ++u) {
      p.b = turned_weights(block.pass) + u * shape_.out_groups * p.b_group;
      p.c = block.of(in_->gradient) + u * g_.in.plane();
      block.pass.bf16->sample_tiles.taps(p);
    }
  }

  // The weights, or their gradients, of a unit of inputs at a tap and a unit of outputs.
  struct WeightTile {
    std::int64_t at, width;  // floats, and floats from one row to the next
  };
  WeightTile weight_tile(std::int64_t in_unit, std::int64_t tap, std::int64_t out_unit) const {
    const std::int64_t column = out_unit * unit, first = column / panel * panel;
    const std::int64_t width = std::min(panel, g_.columns() - first);
    return {first * g_.depth() + (in_unit * shape_.taps + tap) * unit * width + column - first,
            width};
  }

  // Forward tiles are (output units, groups of input channels, taps).
  void round_tile(const Pass& pass, std::int64_t index) const {
    const std::int64_t tap = index % shape_.taps, group = index / shape_.taps % shape_.in_groups,
                       n = index / shape_.taps / shape_.in_groups;
    alignas(64) float rows[tile_channels * unit] = {};
    for (std::int64_t u = 2 * group; u < std::min(2 * group + 2, shape_.in_units); ++u) {
      const WeightTile tile = weight_tile(u, tap, n);
      for (std::int64_t r = 0; r < unit; ++r)
        std::copy_n(pass.weights + g_.weights + tile.at + r * tile.width, unit,
                    rows + ((u - 2 * group) * unit + r) * unit);
    }
    pass.bf16->pair_rows(rows, unit, tile_channels, unit,
                         forward_weights(pass) + index * tile_size, 2 * unit);
  }

  // Turned tiles are (input units, groups of output channels, taps).
  void turn_tile(const Pass& pass, std::int64_t index) const {
    const std::int64_t tap = index % shape_.taps, group = index / shape_.taps % shape_.out_groups,
                       u = index / shape_.taps / shape_.out_groups;
    const WeightTile tile = weight_tile(u, tap, 2 * group);
    const std::int64_t columns = std::min(tile_channels, g_.columns() - 2 * group * unit);
    Bf16* to = turned_weights(pass) + index * tile_size;
    pass.bf16->transpose_pairs(pass.weights + g_.weights + tile.at, tile.width, unit, columns, to,
                               2 * unit);
    std::fill(to + columns * unit, to + tile_size, Bf16{});
  }

  ConvGeometry g_;
  TileShape shape_;
  bool pooled_;
  std::int64_t windows_, chunk_, sum_windows_;
  ConvInput input_;
  SampleLayout layout_, out_layout_;
  TapTables tables_, last_tables_;
  core::Bytes input_at_, frames_at_, sums_at_, outputs_at_, turned_at_, pairs_at_;
};

}  // namespace

bool runs_on_sample_tiles(const ConvGeometry& g, std::int64_t micro_batch) {
  if (!g.tiles || micro_batch < least_samples || (g.compact && !g.raw_input)) return false;
  const std::int64_t windows = g.out.positions() / g.slots();
  const std::int64_t out = g.raw_input ? windows * g.columns() : g.out.floats();
  return out <= most_floats && (g.raw_input || g.in.floats() <= most_floats);
}

std::unique_ptr<Op> make_conv_on_tiles(std::string name, const ConvGeometry& geometry, Tensor* in,
                                       Tensor* out) {
  return std::make_unique<ConvOnTiles>(std::move(name), geometry, in, out);
}

}  // namespace sweetspot::engine::cpu
