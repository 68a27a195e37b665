#include <algorithm>
#include <optional>
#include <utility>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_input.h"
#include "engine/cpu/ops/conv_on_tiles.h"
#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

constexpr std::int64_t sums_in_cache = 8;  // tiles of a chunk
// Tiles of gradients that are multiplied at once: many if that loads and stores the sums.
constexpr std::int64_t few_gradients = 8, many_gradients = 24;
constexpr std::int64_t turned_in_cache = 4096;  // numbers, of 16 samples: 256 KiB

// A first layer has few channels, so the patch of one output fills little of a tile's row. Rows
// have the patch of several neighbouring outputs instead, and each of these its own weights, with
// zeros where it does not read the patch.
struct WidePatch {
  explicit WidePatch(const ConvGeometry& g) : outputs(g.pool.width) {
    row = row_of(g, outputs);
    while (outputs + g.pool.width <= g.out.width && row_of(g, outputs + g.pool.width) == row)
      outputs += g.pool.width;
    line = line_of(g, outputs);
    // Copies of whole registers, if there is room.
    if (const std::int64_t even = round_up(line, 8); g.kernel.height * even <= row) line = even;
    places = pieces(g.out.width, outputs);
  }
  std::int64_t tiles() const { return row / tile_channels; }

  std::int64_t outputs;    // that share a patch
  std::int64_t line, row;  // numbers of one line of it, and of all lines with padding
  std::int64_t places;     // patches in a row of outputs

 private:
  static std::int64_t line_of(const ConvGeometry& g, std::int64_t outputs) {
    return ((outputs - 1) * g.strides.width + g.kernel.width) * g.in.channels;
  }
  static std::int64_t row_of(const ConvGeometry& g, std::int64_t outputs) {
    return round_up(g.kernel.height * line_of(g, outputs), tile_channels);
  }
};

// A convolution over the batch itself. Forward, the rows of a tile are the patches of 16 samples.
// For the weight gradient they are taps, and pairs of neighbouring outputs of 16 samples are summed
// over.
class FirstConvOnTiles final : public BlockwiseOp {
 public:
  FirstConvOnTiles(std::string name, const ConvGeometry& geometry, Tensor* out)
      : BlockwiseOp(std::move(name), nullptr, out),
        g_(geometry),
        pooled_(g_.slots() > 1),
        windows_(g_.out.positions() / g_.slots()),
        input_(g_, window_major(g_), 0),
        patch_(g_) {
    list_products();
    list_taps();
    winner_bytes_ = pooled_ ? aligned(static_cast<core::Bytes>(out->extent.floats())) : 0;
    // All winners of a block, then its frames.
    kept.bytes = winner_bytes_ + static_cast<core::Bytes>(frame_stride()) * sizeof(Bf16);
    kept.block = tile_samples;
    ScratchLayout scratch;
    patches_at_ = add_numbers(
        scratch, std::ssize(place_offsets_) * tile_samples * patch_.row + tile_channels);
    sums_at_ = scratch.add_floats(2 * most_sums_ * tile_floats);
    turned_at_ = add_numbers(
        scratch, round_up(lines_of(rows_turned_) * line_stride(), unit) * tile_channels);
    // The last tile of taps may reach beyond them.
    taps_at_ = add_numbers(scratch, g_.pool.height * tap_line_ + tile_size);
    gradients_at_ = add_numbers(scratch, 4 * gradients_of_unit());
    weight_sums_at_ = scratch.add_floats((tap_tiles() + 1) * unit * g_.columns());
    working.bytes = scratch.size();
    temporary.bytes = input_.scratch_bytes();
    slot_floats = g_.columns() * (g_.depth() + 1);
    shared_floats = weight_tiles() * tile_size / 2;
  }

  std::string method() const override { return side_by_side_method(g_); }
  bool keeps_output() const override { return g_.relu && !pooled_; }

  bool makes_tiles() const override { return adds_bias_by_windows(); }
  int forward_steps() const override { return 2; }

  // Frames of some samples, then some rows of windows.
  void forward_piece(const Pass& pass, const Range& samples, const Piece& piece,
                     int thread) override {
    if (piece.step == 0) return take_frames(pass, samples, piece, thread);
    std::byte* memory = pass.at<std::byte>(working, 0, thread);
    PatchPlaces p{};
    p.frame_stride = frame_stride(), p.line_stride = line_stride();
    p.offsets = place_offsets_.data(), p.places = std::ssize(place_offsets_);
    p.lines = g_.kernel.height, p.run = patch_.line, p.samples = samples.end - samples.begin;
    p.to = numbers(memory, patches_at_), p.rows = tile_samples, p.row = patch_.row;
    const std::int64_t across = g_.out.width / g_.pool.width;
    const Range rows = piece.of(windows_ / across);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      p.frames = frames(pass, samples.begin, thread) +
                 row * g_.pool.height * g_.strides.height * line_stride();
      pass.bf16->side_by_side.patches(p);
      multiply(pass, samples, thread, row * across, row == rows.begin);
    }
  }

  // Some units.
  void backward_piece(const Pass& pass, const SlotPart& part, const Piece& piece,
                      int thread) override {
    const Range& samples = part.samples;
    const Range units = piece.of(g_.out.units());
    if (units.begin == units.end) return;
    float* weights = slot(pass, part.slot);
    for (std::int64_t s = 0; s < samples.end - samples.begin && !adds_bias_by_windows(); ++s)
      add_bias(pass, samples.begin, s, thread, units, weights + g_.columns() * g_.depth());
    add_weights(pass, samples, thread, units, weights);
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    const Range mine = share(weight_tiles(), part, parts);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) round_tile(pass, i);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    gather_conv(pass, g_, slot(pass, 0), part, parts);
  }

 private:
  static Bf16* numbers(std::byte* memory, core::Bytes at) {
    return reinterpret_cast<Bf16*>(memory + at);
  }
  static core::Bytes add_numbers(ScratchLayout& scratch, std::int64_t count) {
    return scratch.add(static_cast<core::Bytes>(count) * sizeof(Bf16));
  }
  // A copy may read a register's numbers beyond the end: zeros.
  std::int64_t frame_stride() const {
    return round_up(input_.frame_numbers() + tile_channels + output_stride(), tile_channels);
  }
  std::int64_t output_stride() const { return g_.strides.width * g_.in.channels; }
  std::int64_t line_stride() const { return input_.frame_width() * g_.in.channels; }
  std::int64_t weight_tiles() const { return g_.out.units() * patch_.outputs * patch_.tiles(); }

  // The patches of a row of windows, and which of them are multiplied with which weights.
  void list_products() {
    const std::int64_t lines = g_.pool.height;
    for (std::int64_t i = 0; i < lines; ++i)
      for (std::int64_t x = 0; x < patch_.places; ++x)
        place_offsets_.push_back(
            static_cast<std::int32_t>(i * g_.strides.height * line_stride() +
                                      x * patch_.outputs * g_.strides.width * g_.in.channels));
    const std::int64_t at_once =
        std::max<std::int64_t>(1, sums_in_cache / (lines * patch_.outputs));
    for (std::int64_t x = 0; x < patch_.places; x += at_once) {
      const std::int64_t places = std::min(at_once, patch_.places - x);
      const std::int64_t first = x * patch_.outputs / g_.pool.width;
      const std::int64_t end =
          std::min((x + places) * patch_.outputs, g_.out.width) / g_.pool.width;
      chunks_.push_back({first, end - first, std::ssize(groups_), 0});
      for (std::int64_t at = 0; at < lines * places; at += 2)
        for (std::int64_t output = 0; output < patch_.outputs; output += 2)
          add_group({x, places, first}, at, output);
      chunks_.back().groups = std::ssize(groups_) - chunks_.back().first_group;
      most_sums_ = std::max(most_sums_, chunks_.back().windows * g_.slots());
    }
  }

  // Patches `at` and the next, line by line of each place, with outputs `output` and the next.
  struct Places {
    std::int64_t first, count, first_window;
  };
  void add_group(const Places& places, std::int64_t at, std::int64_t output) {
    PatchGroup group{{}, {}, {-1, -1, -1, -1}};
    for (std::int64_t i = 0; i < 2; ++i) {
      const std::int64_t index = std::min(at + i, g_.pool.height * places.count - 1),
                         line = index % g_.pool.height,
                         place = places.first + index / g_.pool.height;
      group.a[i] =
          static_cast<std::int32_t>((line * patch_.places + place) * tile_samples * patch_.row);
      group.b[i] = static_cast<std::int32_t>(std::min(output + i, patch_.outputs - 1) *
                                             patch_.tiles() * tile_size);
      for (std::int64_t j = 0; j < 2; ++j) {
        const std::int64_t column = place * patch_.outputs + output + j;
        if (at + i > index || output + j >= patch_.outputs || column >= g_.out.width) continue;
        const std::int64_t window = column / g_.pool.width - places.first_window,
                           slot = line * g_.pool.width + column % g_.pool.width;
        group.c[2 * i + j] = static_cast<std::int32_t>((window * g_.slots() + slot) * tile_floats);
      }
    }
    if (std::ranges::any_of(group.c, [](std::int32_t c) { return c >= 0; }))
      groups_.push_back(group);
  }

  // The pairs of a row of outputs, and what they are multiplied with.
  void list_taps() {
    const std::int64_t of_window = g_.pool.width % 2 == 0 ? g_.pool.width / 2 : 1;
    pairs_ = pieces(g_.out.width, 2);
    const std::int64_t tiles = sums_stay() ? few_gradients : many_gradients;
    pairs_at_once_ = tiles / 2 / g_.pool.height / of_window * of_window;
    pairs_at_once_ = std::clamp(pairs_at_once_, of_window, pairs_);
    tap_numbers_ = (2 * (pairs_ - 1) * g_.strides.width + g_.kernel.width) * g_.in.channels;
    tap_line_ = tap_numbers_ * g_.kernel.height * tile_channels;
    rows_turned_ = g_.out.height / g_.pool.height;
    while (rows_turned_ > 1 && lines_of(rows_turned_) * line_stride() > turned_in_cache)
      rows_turned_ = pieces(rows_turned_, 2);
    for (std::int64_t pair = 0; pair < pairs_at_once_; ++pair)
      for (std::int64_t line = 0; line < g_.pool.height; ++line)
        tap_steps_.push_back({static_cast<std::int32_t>(line * tap_line_ + taps_of_pair(pair)),
                              static_cast<std::int32_t>(std::ssize(tap_steps_) * tile_size)});
  }
  // Where the taps of a pair of outputs begin.
  std::int64_t taps_of_pair(std::int64_t pair) const {
    return 2 * pair * g_.strides.width * g_.in.channels * g_.kernel.height * tile_channels;
  }
  std::int64_t all_taps() const { return g_.kernel.height * g_.kernel.width * g_.in.channels; }
  std::int64_t tap_tiles() const { return pieces(all_taps(), unit); }
  std::int64_t gradients_of_unit() const { return pairs_at_once_ * g_.pool.height * tile_size; }

  Bf16* frames(const Pass& pass, std::int64_t first, int thread) const {
    return reinterpret_cast<Bf16*>(pass.at<std::byte>(kept, first, thread) +
                                   tile_samples * winner_bytes_);
  }
  // Lines of the frames that some rows of windows read.
  std::int64_t lines_of(std::int64_t rows) const {
    return (rows * g_.pool.height - 1) * g_.strides.height + g_.kernel.height;
  }
  // Those of the rows from `row` on.
  void turn_frames(const Pass& pass, const Range& samples, int thread, std::int64_t row,
                   Bf16* to) const {
    const std::int64_t rows = std::min(rows_turned_, g_.out.height / g_.pool.height - row);
    pass.bf16->side_by_side.turn_frames(
        {frames(pass, samples.begin, thread) + first_line(row) * line_stride(), frame_stride(),
         output_stride(), samples.end - samples.begin, lines_of(rows) * line_stride(), to});
  }
  std::int64_t first_line(std::int64_t row) const {
    return row * g_.pool.height * g_.strides.height;
  }
  void take_frames(const Pass& pass, const Range& samples, const Piece& piece, int thread) const {
    const Range mine = part_of(samples, piece);
    for (std::int64_t s = mine.begin; s < mine.end; ++s)
      take_frame(pass, s, thread,
                 frames(pass, samples.begin, thread) + (s - samples.begin) * frame_stride());
  }
  void take_frame(const Pass& pass, std::int64_t sample, int thread, Bf16* to) const {
    const float* frame = input_.frame(pass.inputs + sample * g_.input.size(),
                                      pass.at<std::byte>(temporary, 0, thread));
    pass.bf16->round(frame, input_.frame_numbers(), to);
    std::fill(to + input_.frame_numbers(), to + frame_stride(), Bf16{});
  }

  // Those that the row of windows from w on fetches of the samples after these.
  Ahead next_inputs(const Pass& pass, const Range& samples, std::int64_t w) const {
    const std::int64_t across = g_.out.width / g_.pool.width, size = g_.input.size(),
                       next = std::min(samples.end + tile_samples, pass.count) - samples.end;
    const Range part =
        share(next * size, static_cast<int>(w / across), static_cast<int>(windows_ / across));
    return {pass.inputs + samples.end * size + part.begin,
            (part.end - part.begin) * static_cast<std::int64_t>(sizeof(float))};
  }

  // A row of windows, from window w on.
  void multiply(const Pass& pass, const Range& samples, int thread, std::int64_t w,
                bool configures) const {
    std::byte* memory = pass.at<std::byte>(working, 0, thread);
    PatchRow r{};
    r.a = numbers(memory, patches_at_), r.a_row = patch_.row, r.tiles = patch_.tiles();
    r.b = reinterpret_cast<const Bf16*>(pass.shared + shared_offset);
    r.b_unit = patch_.outputs * patch_.tiles() * tile_size, r.units = g_.out.units();
    r.groups = groups_.data(), r.chunks = chunks_.data(), r.chunk_count = std::ssize(chunks_);
    r.configures = configures;
    r.sums = reinterpret_cast<float*>(memory + sums_at_);
    r.chunk_floats = most_sums_ * tile_floats;
    r.out_unit = windows_ * window_stride(), r.tiles_group = windows_ * tile_size;
    r.ahead = next_inputs(pass, samples, w);
    PoolTiles& pool = r.pool;
    pool.slots = g_.slots(), pool.samples = samples.end - samples.begin, pool.relu = g_.relu;
    pool.bias = g_.bias ? pass.weights + *g_.bias : nullptr;
    if (out_->tiled)
      pool.tiles = pass.at<Bf16>(out_->value, samples.begin, thread) + w * tile_size;
    else
      pool.out = pass.at(out_->value, samples.begin, thread) + w * unit;
    pool.out_stride = static_cast<std::int64_t>(out_->value.bytes / sizeof(float));
    if (pooled_)
      pool.winner = pass.at<std::uint8_t>(kept, samples.begin, thread) + w * window_stride();
    pool.winner_stride = static_cast<std::int64_t>(winner_bytes_);
    pass.bf16->sample_tiles.patches(r);
  }

  // Sample s of a block.
  void add_bias(const Pass& pass, std::int64_t first, std::int64_t s, int thread,
                const Range& units, float* bias) const {
    const std::uint8_t* winner = pooled_ ? pass.at<std::uint8_t>(kept, first, thread) +
                                               static_cast<core::Bytes>(s) * winner_bytes_
                                         : nullptr;
    add_masked_bias(pass, g_, units, winner, pass.at(out_->value, first + s, thread),
                    pass.at(out_->gradient, first + s, thread), bias);
  }

  // Floats of a gradient, and winners, from one window of a unit to the next.
  std::int64_t window_stride() const { return out_->tiled ? tile_floats : unit; }
  // Together with the pairs of gradients.
  bool adds_bias_by_windows() const { return pooled_ && g_.pool.width % 2 == 0; }

  // Of some units, two at a time. Sums are made in the order of the taps in a line, and added in
  // theirs.
  void add_weights(const Pass& pass, const Range& samples, int thread, const Range& units,
                   float* weights) const {
    auto* sums = reinterpret_cast<float*>(pass.at<std::byte>(working, 0, thread) + weight_sums_at_);
    for (std::int64_t u = units.begin; u < units.end; u += 2)
      sum_weights(pass, samples, thread, {u, std::min(u + 2, units.end)}, weights, sums);
    for (std::int64_t i = 0; i < all_taps(); ++i) add_taps(pass, sums, i, units, weights);
  }
  // The gradients of some pairs of outputs are taken while those before them are multiplied.
  void sum_weights(const Pass& pass, const Range& samples, int thread, const Range& units,
                   float* weights, float* sums) const {
    std::byte* memory = pass.at<std::byte>(working, 0, thread);
    const std::int64_t rows = g_.out.height / g_.pool.height;
    Bf16* gradients[] = {numbers(memory, gradients_at_),
                         numbers(memory, gradients_at_) + 2 * gradients_of_unit()};
    for (std::int64_t row = 0; row < rows; ++row) {
      take_taps(pass, samples, thread, row);
      std::optional<Pairs> before;
      for (std::int64_t first = 0; first < pairs_; first += pairs_at_once_) {
        const Pairs pairs{row, first, std::min(pairs_at_once_, pairs_ - first)};
        for (std::int64_t u = units.begin; u < units.end; ++u)
          take_gradients(pass, samples, thread, pairs, u, weights,
                         gradients[0] + (u - units.begin) * gradients_of_unit());
        if (before) add_pairs(pass, memory, *before, units, gradients[1], false, sums);
        before = pairs;
        std::swap(gradients[0], gradients[1]);
      }
      add_pairs(pass, memory, *before, units, gradients[1], row + 1 == rows, sums);
    }
  }
  // What the taps of a row of windows read.
  void take_taps(const Pass& pass, const Range& samples, int thread, std::int64_t row) const {
    std::byte* memory = pass.at<std::byte>(working, 0, thread);
    Bf16* turned = numbers(memory, turned_at_);
    const std::int64_t first_row = row / rows_turned_ * rows_turned_;
    if (row == first_row) turn_frames(pass, samples, thread, row, turned);
    TapLines taps{};
    taps.line_stride = line_stride(), taps.lines = g_.kernel.height, taps.numbers = tap_numbers_;
    for (std::int64_t line = 0; line < g_.pool.height; ++line) {
      taps.from = turned + (first_line(row) - first_line(first_row) + line * g_.strides.height) *
                               line_stride() * tile_channels;
      taps.to = numbers(memory, taps_at_) + line * tap_line_;
      pass.bf16->side_by_side.tap_lines(taps);
    }
  }

  // Some pairs of outputs of a row of windows.
  struct Pairs {
    std::int64_t row, first, count;
  };
  void take_gradients(const Pass& pass, const Range& samples, int thread, const Pairs& pairs,
                      std::int64_t u, float* weights, Bf16* to) const {
    const std::int64_t across = g_.out.width / g_.pool.width,
                       at = (u * windows_ + pairs.row * across) * window_stride();
    GradientTiles t{};
    t.gradients = pass.at(out_->gradient, samples.begin, thread) + at;
    if (pooled_) t.winner = pass.at<std::uint8_t>(kept, samples.begin, thread) + at;
    t.window = window_stride(), t.samples = samples.end - samples.begin;
    t.sample = out_->tiled ? unit : static_cast<std::int64_t>(out_->gradient.bytes / sizeof(float));
    t.winner_sample = out_->tiled ? unit : static_cast<std::int64_t>(winner_bytes_);
    t.pool_height = g_.pool.height, t.pool_width = g_.pool.width, t.width = g_.out.width;
    t.first = pairs.first, t.pairs = pairs.count;
    t.to = to;
    if (adds_bias_by_windows()) t.bias = weights + g_.columns() * g_.depth() + u * unit;
    pass.bf16->side_by_side.gradient_tiles(t);
  }
  // Sums of one or two tiles of taps stay in tiles until the last pairs.
  void add_pairs(const Pass& pass, std::byte* memory, const Pairs& pairs, const Range& units,
                 const Bf16* gradients, bool last, float* sums) const {
    const bool stay = sums_stay();
    PairProduct p{};
    p.a_next = tile_size, p.b = gradients, p.b_next = gradients_of_unit();
    p.across = static_cast<int>(units.end - units.begin);
    p.begins = pairs.row == 0 && pairs.first == 0, p.continues = stay, p.leaves = stay && !last;
    p.configures = p.begins || !stay;
    p.d_row = g_.columns(), p.d_next = unit * g_.columns();
    p.steps = tap_steps_.data(), p.step_count = pairs.count * g_.pool.height;
    for (std::int64_t tile = 0; tile < tap_tiles(); tile += 2) {
      p.a = numbers(memory, taps_at_) + taps_of_pair(pairs.first) + tile * tile_size;
      p.down = tile + 1 < tap_tiles() ? 2 : 1;
      p.d = sums + tile * unit * g_.columns() + units.begin * unit;
      pass.bf16->sample_tiles.pairs(p);
      p.configures = false;
    }
  }
  bool sums_stay() const { return tap_tiles() <= 2; }
  // The sums of tap `at`, in the order of a line: those of a last, odd tile are two.
  void add_taps(const Pass& pass, const float* sums, std::int64_t at, const Range& units,
                float* weights) const {
    const std::int64_t line = at % g_.kernel.height, number = at / g_.kernel.height,
                       tap = line * g_.kernel.width * g_.in.channels + number;
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      const std::int64_t first = u * unit / panel * panel,
                         width = std::min(panel, g_.columns() - first);
      const float* sum = sums + at * g_.columns() + u * unit;
      float* to = weights + first * g_.depth() + tap * width + u * unit - first;
      pass.kernels->add(sum, unit, to);
      if (tap_tiles() % 2 == 1 && at / unit + 1 == tap_tiles())
        pass.kernels->add(sum + unit * g_.columns(), unit, to);
    }
  }

  // Tiles are (output units, outputs of a patch, tiles of a row).
  void round_tile(const Pass& pass, std::int64_t index) const {
    const std::int64_t tile = index % patch_.tiles(),
                       output = index / patch_.tiles() % patch_.outputs,
                       n = index / patch_.tiles() / patch_.outputs * unit;
    const std::int64_t first = n / panel * panel, width = std::min(panel, g_.columns() - first);
    const std::int64_t run = g_.kernel.width * g_.in.channels;
    const float* weights = pass.weights + g_.weights + first * g_.depth() + n - first;
    alignas(64) float rows[tile_channels * unit] = {};
    for (std::int64_t i = 0; i < tile_channels; ++i) {
      const std::int64_t number = tile * tile_channels + i, line = number / patch_.line;
      const std::int64_t at = number % patch_.line - output * g_.strides.width * g_.in.channels;
      if (line < g_.kernel.height && at >= 0 && at < run)
        std::copy_n(weights + (line * run + at) * width, unit, rows + i * unit);
    }
    pass.bf16->pair_rows(rows, unit, tile_channels, unit,
                         reinterpret_cast<Bf16*>(pass.shared + shared_offset) + index * tile_size,
                         2 * unit);
  }

  ConvGeometry g_;
  bool pooled_;
  std::int64_t windows_;
  ConvInput input_;
  WidePatch patch_;
  std::vector<std::int32_t> place_offsets_;
  std::vector<PatchGroup> groups_;
  std::vector<PatchChunk> chunks_;
  std::int64_t most_sums_ = 0;
  std::vector<PairStep> tap_steps_;
  std::int64_t pairs_, pairs_at_once_;
  std::int64_t tap_numbers_, tap_line_;  // of a line that a row of outputs reads, and of all lines
  std::int64_t rows_turned_;             // rows of windows whose frames are turned at once
  core::Bytes winner_bytes_;
  core::Bytes turned_at_, patches_at_, sums_at_, taps_at_, gradients_at_, weight_sums_at_;
};

}  // namespace

std::unique_ptr<Op> make_first_conv_on_tiles(std::string name, const ConvGeometry& geometry,
                                             Tensor* out) {
  return std::make_unique<FirstConvOnTiles>(std::move(name), geometry, out);
}

}  // namespace sweetspot::engine::cpu
