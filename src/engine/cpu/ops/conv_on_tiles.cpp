#include "engine/cpu/ops/conv_on_tiles.h"

#include <algorithm>
#include <array>
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

struct TileShape {
  explicit TileShape(const ConvGeometry& g)
      : taps(g.taps()),
        in_units(g.in.units()),
        in_groups(pieces(in_units, 2)),
        out_units(g.out.units()),
        out_groups(pieces(out_units, 2)) {}
  std::int64_t forward_tiles() const { return out_units * in_groups * taps; }
  std::int64_t turned_tiles() const { return in_units * out_groups * taps; }

  std::int64_t taps, in_units, in_groups, out_units, out_groups;
};

class ConvOnTiles final : public BlockwiseOp {
 public:
  ConvOnTiles(std::string name, const ConvGeometry& geometry, Tensor* in, Tensor* out)
      : BlockwiseOp(std::move(name), in, out),
        g_(geometry),
        shape_(g_),
        pooled_(g_.slots() > 1),
        windows_(g_.out.positions() / g_.slots()),
        tables_(tap_tables(g_, in->tiled ? tile_floats : unit)),
        in_group_(g_.in.positions() * tile_size),
        out_group_(g_.out.positions() * tile_size) {
    kept.bytes = pooled_ ? aligned(static_cast<core::Bytes>(out->extent.floats())) : 0;
    kept.block = tile_samples;
    ScratchLayout scratch;
    const auto add_tiles = [&](std::int64_t count) {
      return scratch.add(static_cast<core::Bytes>(count * tile_size) * sizeof(Bf16));
    };
    input_at_ = add_tiles(in->tiled ? 0 : shape_.in_groups * g_.in.positions());
    outputs_at_ = add_tiles(shape_.out_groups * g_.out.positions());
    turned_at_ = add_tiles(shape_.in_units * std::ssize(tables_.place_pairs));
    pairs_at_ = add_tiles(shape_.out_units * std::ssize(tables_.output_pairs));
    together.bytes = scratch.size();
    working.bytes =
        aligned(static_cast<core::Bytes>(tables_.most_sums * tile_floats) * sizeof(float));
    slot_floats = g_.columns() * (g_.depth() + 1);
    shared_floats = (shape_.forward_tiles() + shape_.turned_tiles()) * tile_size / 2;
  }

  std::string method() const override { return side_by_side_method(g_); }
  bool keeps_input() const override { return true; }
  bool keeps_output() const override { return g_.relu && !pooled_; }

  bool makes_tiles() const override { return true; }
  bool begins_slots() const override { return true; }
  bool folds_own_slots() const override { return true; }

  // A tiled input is read where it is, and tiled gradients are masked as they are taken.
  int forward_steps() const override { return in_->tiled ? 1 : 2; }
  int backward_steps() const override { return first_step() == 0 ? 4 : 3; }

  void forward_piece(const Pass& pass, const Range& samples, const Piece& piece,
                     int thread) override {
    const Block block(*this, pass, samples, thread);
    if (piece.step == 0 && !in_->tiled)
      take_input(block, piece);
    else
      multiply(block, piece);
  }

  void backward_piece(const Pass& pass, const SlotPart& part, const Piece& piece,
                      int thread) override {
    const Block block(*this, pass, part.samples, thread);
    const bool folds = pass.folds_slots && part.slot > 0 && part.ends;
    const Sums sums{slot(pass, part.slot), folds ? slot(pass, 0) : nullptr,
                    part.begins && !pass.adds};
    switch (first_step() + piece.step) {
      case 0:
        if (masks_before()) add_bias(block, piece, sums);
        if (!in_->tiled) take_input(block, piece);
        return;
      case 1:
        return take_gradients(block, piece, sums);
      case 2:  // the first one fetches what the second one reads
        if (wants_input_gradient) make_input_gradient(block, piece);
        return turn_input(block, piece);
      default:
        if (folds) fold_bias(pass, piece, sums);
        return add_weights(block, piece, sums);
    }
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    const Range forward = share(shape_.forward_tiles(), part, parts);
    for (std::int64_t i = forward.begin; i < forward.end; ++i) round_tile(pass, i);
    if (!wants_input_gradient || !pass.training) return;
    const Range turned = share(shape_.turned_tiles(), part, parts);
    for (std::int64_t i = turned.begin; i < turned.end; ++i) turn_tile(pass, i);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    gather_conv(pass, g_, slot(pass, 0), part, parts);
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
          memory(given.at<std::byte>(op.together, range.begin, member)),
          sums(given.at(op.working, 0, member)),
          input(op.in_->tiled ? given.at<Bf16>(op.in_->value, range.begin, member)
                              : numbers(op.input_at_)) {}
    Bf16* numbers(core::Bytes at) const { return reinterpret_cast<Bf16*>(memory + at); }
    float* of(const Allocation& allocation) const { return pass.at(allocation, first, thread); }

    const Pass& pass;
    std::int64_t first, samples;
    int thread;
    std::byte* memory;
    float* sums;
    Bf16* input;
  };
  // A slot's gradients: of the weights, then of the bias.
  struct Sums {
    float* weights;
    float* total;  // null, or the sum of the slots before, to which the complete slot is added
    bool begins;
  };
  // The bias of these units.
  float* bias_of(const Sums& sums, const Range& units) const {
    float* bias = sums.weights + g_.columns() * g_.depth();
    if (sums.begins) std::fill(bias + units.begin * unit, bias + units.end * unit, 0.f);
    return bias;
  }
  // Of some units, when it is complete.
  void fold_bias(const Pass& pass, const Piece& piece, const Sums& sums) const {
    const Range units = piece.of(shape_.out_units);
    const std::int64_t first = g_.columns() * g_.depth() + units.begin * unit;
    pass.kernels->add(sums.weights + first, (units.end - units.begin) * unit, sums.total + first);
  }

  // The bias of outputs that are neither pooled nor tiled is summed before their gradients, which
  // that masks, are taken.
  bool masks_before() const { return !pooled_ && !out_->tiled; }
  int first_step() const { return in_->tiled && !masks_before() ? 1 : 0; }

  static std::int64_t floats_between(const Allocation& allocation) {
    return static_cast<std::int64_t>(allocation.bytes / sizeof(float));
  }

  Bf16* forward_weights(const Pass& pass) const {
    return reinterpret_cast<Bf16*>(pass.shared + shared_offset);
  }
  Bf16* turned_weights(const Pass& pass) const {
    return forward_weights(pass) + shape_.forward_tiles() * tile_size;
  }

  // Some of the positions.
  void take_input(const Block& block, const Piece& piece) const {
    const Range mine = piece.of(g_.in.positions());
    block.pass.bf16->side_by_side.side_by_side(
        {block.of(in_->value) + mine.begin * unit, floats_between(in_->value), g_.in.plane(), unit,
         mine.end - mine.begin, g_.in.units(), block.samples},
        block.input + mine.begin * tile_size, in_group_);
  }

  // Some of the outputs.
  void multiply(const Block& block, const Piece& piece) const {
    TapProduct p{};
    p.a = block.input, p.a_group = in_group_;
    p.b_group = shape_.taps * tile_size, p.channel_groups = shape_.in_groups;
    set_groups(tables_.forward, p);
    p.samples = block.samples, p.configures = true;
    p.c = block.sums, p.c_row = unit;
    const std::int64_t chunks = std::ssize(tables_.chunks);
    const Range mine = piece.of(shape_.out_units * chunks);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      const std::int64_t u = i / chunks;
      const TapTables::Chunk& chunk = tables_.chunks[static_cast<std::size_t>(i % chunks)];
      p.b = forward_weights(block.pass) + u * shape_.in_groups * p.b_group;
      p.groups = tables_.forward.groups.data() + chunk.first_group, p.group_count = chunk.groups;
      block.pass.bf16->sample_tiles.taps(p);
      p.configures = false;
      pool(block, u, chunk);
    }
  }
  static void set_groups(const TapTables::Products& products, TapProduct& p) {
    p.columns = products.columns.data(), p.lines = products.lines.data();
    p.groups = products.groups.data(), p.group_count = std::ssize(products.groups);
    p.b_step = products.step;
  }

  // A unit's sums.
  void pool(const Block& block, std::int64_t u, const TapTables::Chunk& chunk) const {
    const Pass& pass = block.pass;
    PoolTiles p{};
    p.sums = block.sums, p.slots = g_.slots();
    p.windows = chunk.windows, p.samples = block.samples;
    p.bias = g_.bias ? pass.weights + *g_.bias + u * unit : nullptr, p.relu = g_.relu;
    const std::int64_t first = chunk.first_window,
                       at = (u * windows_ + first) * position_stride(out_);
    if (out_->tiled) {
      p.tiles = pass.at<Bf16>(out_->value, block.first, block.thread) +
                (u / 2 * windows_ + first) * tile_size + u % 2 * unit;
      p.clears = u % 2 == 0 && u + 1 == shape_.out_units;
    } else {
      p.out = block.of(out_->value) + at, p.out_stride = floats_between(out_->value);
    }
    p.winner_stride = static_cast<std::int64_t>(kept.bytes);
    if (pooled_) p.winner = pass.at<std::uint8_t>(kept, block.first, block.thread) + at;
    pass.bf16->side_by_side.pool(p);
  }

  // Floats of a gradient, and winners, from one position of a unit to the next.
  static std::int64_t position_stride(const Tensor* tensor) {
    return tensor->tiled ? tile_floats : unit;
  }

  // Some of the units, sample by sample.
  void add_bias(const Block& block, const Piece& piece, const Sums& sums) const {
    const Range units = piece.of(shape_.out_units);
    float* bias = bias_of(sums, units);
    const Pass& pass = block.pass;
    for (std::int64_t s = block.first; s < block.first + block.samples; ++s)
      add_masked_bias(pass, g_, units, nullptr, pass.at(out_->value, s, block.thread),
                      pass.at(out_->gradient, s, block.thread), bias);
  }

  // Some of the groups of channels, in pairs too.
  void take_gradients(const Block& block, const Piece& piece, const Sums& sums) const {
    const SampleTileKernels& kernels = block.pass.bf16->side_by_side;
    const Range groups = piece.of(shape_.out_groups);
    const Range units{2 * groups.begin, std::min(2 * groups.end, shape_.out_units)};
    float* bias = masks_before() ? nullptr : bias_of(sums, units) + units.begin * unit;
    const std::int64_t position = position_stride(out_), unit_floats = windows_ * position,
                       first = units.begin * unit_floats;
    const UnitImages images{block.of(out_->gradient) + first,
                            out_->tiled ? unit : floats_between(out_->gradient),
                            unit_floats,
                            position,
                            windows_,
                            units.end - units.begin,
                            block.samples};
    Bf16* to = block.numbers(outputs_at_) + groups.begin * out_group_;
    PairPlaces pairs = output_pairs(block);
    const bool in_pairs = g_.pool.height == 2 && g_.pool.width == 2;
    if (pooled_)
      kernels.winners_side_by_side(
          images,
          {block.pass.at<std::uint8_t>(kept, block.first, block.thread) + first,
           out_->tiled ? unit : static_cast<std::int64_t>(kept.bytes), g_.slots(),
           in_pairs ? pairs.to + units.begin * pairs.count * tile_size : nullptr,
           pairs.count * tile_size, tables_.pairs_of_row},
          bias, to, out_group_);
    else if (out_->tiled)
      kernels.gradients_side_by_side(
          images,
          g_.relu ? block.pass.at<Bf16>(out_->value, block.first, block.thread) +
                        groups.begin * out_group_
                  : nullptr,
          bias, to, out_group_);
    else
      kernels.side_by_side(images, to, out_group_);
    pairs.unit_part = {units.begin, units.end};
    if (!in_pairs) kernels.pair_places(pairs);
  }
  // Some of the pairs of places.
  void turn_input(const Block& block, const Piece& piece) const {
    PairPlaces turned = input_pairs(block);
    const Range places = piece.of(turned.count);
    turned.pair_part = {places.begin, places.end};
    block.pass.bf16->side_by_side.turn_places(turned);
  }

  PairPlaces input_pairs(const Block& block) const {
    const std::int64_t count = std::ssize(tables_.place_pairs);
    return {block.input,   in_group_,  tables_.place_pairs.data(), count,
            block.samples, {0, count}, {0, shape_.in_units},       block.numbers(turned_at_)};
  }
  PairPlaces output_pairs(const Block& block) const {
    const std::int64_t count = std::ssize(tables_.output_pairs);
    return {block.numbers(outputs_at_),
            out_group_,
            tables_.output_pairs.data(),
            count,
            block.samples,
            {0, count},
            {0, shape_.out_units},
            block.numbers(pairs_at_)};
  }

  // Of some of the taps and units.
  void add_weights(const Block& block, const Piece& piece, const Sums& sums) const {
    const PairPlaces turned = input_pairs(block), pairs = output_pairs(block);
    const std::int64_t parts = std::ssize(tables_.taps);
    PairLines p{};
    p.places = tables_.pair_places.data(), p.pairs = tables_.pairs_of_row;
    p.configures = true, p.begins = sums.begins;
    const Range mine = piece.of(shape_.out_units * shape_.in_units * parts);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      const std::int64_t n = i / parts / shape_.in_units, u = i / parts % shape_.in_units;
      const TapTables::Taps& taps = tables_.taps[static_cast<std::size_t>(i % parts)];
      p.a = turned.to + u * turned.count * tile_size, p.b = pairs.to + n * pairs.count * tile_size;
      p.lines = tables_.pair_lines.data() + taps.first_line, p.line_count = taps.lines;
      p.down = taps.down, p.across = taps.across;
      const WeightTile tile = weight_tile(u, taps.first, n);
      p.d = sums.weights + tile.at, p.d_row = tile.width;
      // From the L1 cache, and not from where a whole slot would be stored first.
      p.total = sums.total ? sums.total + tile.at : nullptr;
      p.d_down = g_.strides.height * g_.kernel.width * unit * tile.width;
      p.d_across = 2 * g_.strides.width * unit * tile.width;
      block.pass.bf16->sample_tiles.pair_lines(p);
      p.configures = false;
    }
  }

  // As many parts as units.
  Ahead part_of_input(const Block& block, std::int64_t u) const {
    const Range part =
        share(shape_.in_groups * in_group_, static_cast<int>(u), static_cast<int>(shape_.in_units));
    return {block.input + part.begin,
            (part.end - part.begin) * static_cast<std::int64_t>(sizeof(Bf16))};
  }
  // At some of the places.
  void make_input_gradient(const Block& block, const Piece& piece) const {
    TapProduct p{};
    p.a = block.numbers(outputs_at_), p.a_group = out_group_;
    p.b_group = shape_.taps * tile_size, p.channel_groups = shape_.out_groups;
    set_groups(tables_.input_gradient, p);
    p.samples = block.samples, p.configures = true;
    p.c_row = in_->tiled ? unit : floats_between(in_->gradient);
    const Range mine = piece.of(p.group_count);
    p.groups += mine.begin, p.group_count = mine.end - mine.begin;
    for (std::int64_t u = 0; u < shape_.in_units; ++u) {
      p.b = turned_weights(block.pass) + u * shape_.out_groups * p.b_group;
      p.c = block.of(in_->gradient) + u * g_.in.positions() * position_stride(in_);
      p.ahead = part_of_input(block, u);
      block.pass.bf16->sample_tiles.taps(p);
      p.configures = false;
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
    Bf16* to = forward_weights(pass) + index * tile_size;
    for (std::int64_t u = 2 * group; u < 2 * group + 2; ++u, to += tile_size / 2) {
      const WeightTile tile = weight_tile(u, tap, n);
      if (u < shape_.in_units)
        pass.bf16->pair_rows(pass.weights + g_.weights + tile.at, tile.width, unit, unit, to,
                             2 * unit);
      else
        std::fill_n(to, tile_size / 2, Bf16{});
    }
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
  std::int64_t windows_;
  TapTables tables_;
  std::int64_t in_group_, out_group_;  // numbers from one channel group to the next
  core::Bytes input_at_, outputs_at_, turned_at_, pairs_at_;
};

}  // namespace

bool runs_on_sample_tiles(const ConvGeometry& g, std::int64_t micro_batch) {
  if (!g.tiles || micro_batch < least_samples) return false;
  if (g.raw_input) return g.out.positions() / g.slots() * g.columns() <= most_floats;
  return !g.compact && g.out.floats() <= most_floats && g.in.floats() <= most_floats;
}

std::string side_by_side_method(const ConvGeometry& g) {
  return std::string(g.relu ? "convolution and ReLU" : "convolution") +
         (g.slots() > 1 ? " with max pooling" : "") + " of samples side by side in bf16";
}

std::unique_ptr<Op> make_conv_on_tiles(std::string name, const ConvGeometry& geometry, Tensor* in,
                                       Tensor* out) {
  if (geometry.raw_input) return make_first_conv_on_tiles(std::move(name), geometry, out);
  return std::make_unique<ConvOnTiles>(std::move(name), geometry, in, out);
}

}  // namespace sweetspot::engine::cpu
