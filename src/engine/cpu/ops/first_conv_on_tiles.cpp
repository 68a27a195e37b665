#include <algorithm>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_input.h"
#include "engine/cpu/ops/conv_on_tiles.h"
#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

constexpr std::int64_t sums_in_cache = 16;                // tiles
constexpr std::int64_t tap_numbers_in_cache = 12 * 1024;  // 24 KiB

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
// For the weight gradient they are taps, and the outputs of one sample are summed over.
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
    kept.bytes = pooled_ ? aligned(static_cast<core::Bytes>(out->extent.floats())) : 0;
    kept.block = tile_samples;
    together.bytes = static_cast<core::Bytes>(tile_samples * frame_stride()) * sizeof(Bf16);
    ScratchLayout scratch;
    patches_at_ = add_numbers(
        scratch, std::ssize(place_offsets_) * tile_samples * patch_.row + tile_channels);
    sums_at_ = scratch.add_floats(most_sums_ * tile_floats);
    planes_at_ = add_numbers(scratch, has_planes() ? planes() * plane() + tile_channels : 0);
    taps_at_ = add_numbers(scratch, g_.depth() * tap_length_ + tile_channels);
    gradients_at_ = add_numbers(scratch, g_.columns() * tap_length_);
    working.bytes = scratch.size();
    temporary.bytes = input_.scratch_bytes();
    slot_floats = g_.columns() * (g_.depth() + 1);
    shared_floats = weight_tiles() * tile_size / 2;
  }

  std::string method() const override { return side_by_side_method(g_); }
  bool keeps_output() const override { return g_.relu && !pooled_; }

  bool makes_tiles() const override { return adds_bias_by_windows(); }
  int forward_steps() const override { return 2; }
  int backward_steps() const override { return 2; }

  // Frames of some samples, then some rows of windows.
  void forward_piece(const Pass& pass, const Range& samples, const Piece& piece,
                     int thread) override {
    if (piece.step == 0) return take_frames(pass, samples, piece, thread);
    if (out_->tiled && piece.part == 0) clear_last(pass, samples.begin, thread);
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

  // Frames of some samples, then some units, sample by sample.
  void backward_piece(const Pass& pass, const SlotPart& part, const Piece& piece,
                      int thread) override {
    const Range& samples = part.samples;
    if (piece.step == 0) return take_frames(pass, samples, piece, thread);
    const Range units = piece.of(g_.out.units());
    if (units.begin == units.end) return;
    std::byte* memory = pass.at<std::byte>(working, 0, thread);
    float* weights = slot(pass, part.slot);
    for (std::int64_t s = samples.begin; s < samples.end; ++s) {
      if (!adds_bias_by_windows())
        add_bias(pass, s, thread, units, weights + g_.columns() * g_.depth());
      const Bf16* frame =
          frames(pass, samples.begin, thread) + (s - samples.begin) * frame_stride();
      if (has_planes()) take_planes(frame, numbers(memory, planes_at_));
      for (std::int64_t y = 0; y < g_.out.height; y += tap_lines_)
        add_weights(pass, s, thread, {frame, y, units}, weights);
    }
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    const Range mine = share(weight_tiles(), part, parts);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) round_tile(pass, i);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    gather_conv(pass, g_, slot(pass, 0), part, parts);
  }

 private:
  // Windows of a row whose sums stay in cache until they are pooled.
  struct Chunk {
    std::int64_t first, windows;
    std::int64_t first_group, groups;
  };

  static Bf16* numbers(std::byte* memory, core::Bytes at) {
    return reinterpret_cast<Bf16*>(memory + at);
  }
  static core::Bytes add_numbers(ScratchLayout& scratch, std::int64_t count) {
    return scratch.add(static_cast<core::Bytes>(count) * sizeof(Bf16));
  }
  // A copy may read a register's numbers beyond the end: zeros.
  std::int64_t frame_stride() const {
    return round_up(input_.frame_numbers() + tile_channels, tile_channels);
  }
  std::int64_t line_stride() const { return input_.frame_width() * g_.in.channels; }
  std::int64_t weight_tiles() const { return g_.out.units() * patch_.outputs * patch_.tiles(); }

  // The patches of a row of windows, and which of them are multiplied with which weights.
  void list_products() {
    const std::int64_t lines = g_.pool.height, stride = tile_samples * patch_.row;
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
      for (std::int64_t output = 0; output < patch_.outputs; ++output)
        for (std::int64_t at = 0; at < lines * places; at += 4)
          add_group(x, places, output, at, first, stride);
      chunks_.back().groups = std::ssize(groups_) - chunks_.back().first_group;
      most_sums_ = std::max(most_sums_, chunks_.back().windows * g_.slots());
    }
  }

  // Output `output` of four patches, from patch `at` of the chunk's on, line by line.
  void add_group(std::int64_t x, std::int64_t places, std::int64_t output, std::int64_t at,
                 std::int64_t first_window, std::int64_t stride) {
    TapStep step{};
    TapGroup group{static_cast<std::int32_t>(std::ssize(steps_)), 1, {-1, -1, -1, -1}};
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t index = std::min(at + i, g_.pool.height * places - 1);
      const std::int64_t line = index / places, place = x + index % places;
      step.a[i] = static_cast<std::int32_t>((line * patch_.places + place) * stride);
      const std::int64_t column = place * patch_.outputs + output;
      if (at + i > index || column >= g_.out.width) continue;
      const std::int64_t window = column / g_.pool.width - first_window,
                         slot = line * g_.pool.width + column % g_.pool.width;
      group.c[i] = static_cast<std::int32_t>((window * g_.slots() + slot) * tile_floats);
    }
    step.b = static_cast<std::int32_t>(output * patch_.tiles() * tile_size);
    steps_.push_back(step), groups_.push_back(group);
  }

  // What each tap reads: runs of a row of the frame, or of a plane of it.
  void list_taps() {
    tap_pitch_ = round_up(g_.out.width, 2);
    tap_lines_ = std::max<std::int64_t>(tap_numbers_in_cache / g_.depth() / tap_pitch_, 1);
    tap_lines_ = std::min(round_up(tap_lines_, g_.pool.height), g_.out.height);
    tap_length_ = round_up(tap_lines_ * tap_pitch_, tile_channels);
    for (std::int64_t i = 0; i < tap_length_ / tile_channels; ++i)
      tap_steps_.push_back(
          {static_cast<std::int32_t>(i * tile_channels), static_cast<std::int32_t>(i * tile_size)});
    for (std::int64_t y = 0; y < g_.kernel.height; ++y)
      for (std::int64_t x = 0; x < g_.kernel.width; ++x)
        for (std::int64_t c = 0; c < g_.in.channels; ++c)
          tap_offsets_.push_back(
              static_cast<std::int32_t>((x % g_.strides.width * g_.in.channels + c) * plane() +
                                        y * plane_width() + x / g_.strides.width));
  }
  // One for each channel and phase of the stride, so that neighbouring outputs read neighbours; a
  // frame of one channel without stride is its own.
  bool has_planes() const { return planes() > 1; }
  std::int64_t planes() const { return g_.strides.width * g_.in.channels; }
  std::int64_t plane_width() const { return pieces(input_.frame_width(), g_.strides.width); }
  std::int64_t plane() const { return input_.frame_numbers() / line_stride() * plane_width(); }
  void take_planes(const Bf16* frame, Bf16* to) const {
    const std::int64_t channels = g_.in.channels, stride = g_.strides.width, width = plane_width(),
                       columns = input_.frame_width(), lines = plane() / width, size = plane();
    std::fill_n(to, planes() * size + tile_channels, Bf16{});
    for (std::int64_t y = 0; y < lines; ++y)
      for (std::int64_t x = 0; x < columns; ++x)
        for (std::int64_t c = 0; c < channels; ++c)
          to[(x % stride * channels + c) * size + y * width + x / stride] =
              frame[(y * columns + x) * channels + c];
  }

  Bf16* frames(const Pass& pass, std::int64_t first, int thread) const {
    return pass.at<Bf16>(together, first, thread);
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

  void multiply(const Pass& pass, const Range& samples, int thread, std::int64_t w,
                bool configures) const {
    std::byte* memory = pass.at<std::byte>(working, 0, thread);
    TapProduct p{};
    p.a = numbers(memory, patches_at_), p.a_row = patch_.row, p.a_group = tile_channels;
    p.b_group = tile_size, p.channel_groups = patch_.tiles(), p.across = 1;
    p.steps = steps_.data(), p.samples = samples.end - samples.begin;
    p.c = reinterpret_cast<float*>(memory + sums_at_), p.c_row = unit;
    PoolTiles pool{};
    pool.sums = p.c, pool.slots = g_.slots(), pool.samples = p.samples, pool.relu = g_.relu;
    pool.out_stride = static_cast<std::int64_t>(out_->value.bytes / sizeof(float));
    pool.winner_stride = static_cast<std::int64_t>(kept.bytes);
    for (std::int64_t u = 0; u < g_.out.units(); ++u) {
      p.b = reinterpret_cast<const Bf16*>(pass.shared + shared_offset) +
            u * patch_.outputs * patch_.tiles() * tile_size;
      pool.bias = g_.bias ? pass.weights + *g_.bias + u * unit : nullptr;
      for (const Chunk& chunk : chunks_) {
        p.groups = groups_.data() + chunk.first_group, p.group_count = chunk.groups;
        p.configures = configures && u == 0 && &chunk == &chunks_.front();
        pass.bf16->sample_tiles.taps(p);
        const std::int64_t window = w + chunk.first, at = (u * windows_ + window) * window_stride();
        pool.windows = chunk.windows;
        if (out_->tiled)
          pool.tiles = pass.at<Bf16>(out_->value, samples.begin, thread) +
                       (u / 2 * (windows_ + 1) + window) * tile_size + u % 2 * unit,
          pool.clears = u % 2 == 0 && u + 1 == g_.out.units();
        else
          pool.out = pass.at(out_->value, samples.begin, thread) + at;
        pool.winner = pooled_ ? pass.at<std::uint8_t>(kept, samples.begin, thread) + at : nullptr;
        pass.bf16->side_by_side.pool(pool);
      }
    }
  }

  void add_bias(const Pass& pass, std::int64_t sample, int thread, const Range& units,
                float* bias) const {
    add_masked_bias(
        pass, g_, units, pooled_ ? pass.at<std::uint8_t>(kept, sample, thread) : nullptr,
        pass.at(out_->value, sample, thread), pass.at(out_->gradient, sample, thread), bias);
  }

  // Floats of a gradient, and winners, from one window of a unit to the next.
  std::int64_t window_stride() const { return out_->tiled ? tile_floats : unit; }
  // The zeros after the last window of each group.
  void clear_last(const Pass& pass, std::int64_t first, int thread) const {
    auto* tiles = pass.at<Bf16>(out_->value, first, thread);
    for (std::int64_t group = 1; 2 * group - 2 < g_.out.units(); ++group)
      std::fill_n(tiles + (group * (windows_ + 1) - 1) * tile_size, tile_size, Bf16{});
  }

  // Together with the pairs of gradients.
  bool adds_bias_by_windows() const { return pooled_ && g_.pool.width % 2 == 0; }

  // Rows of outputs of one sample, from row y on, and some of their units.
  struct Outputs {
    const Bf16* frame;
    std::int64_t y;
    Range units;
  };
  void add_weights(const Pass& pass, std::int64_t sample, int thread, const Outputs& outputs,
                   float* weights) const {
    std::byte* memory = pass.at<std::byte>(working, 0, thread);
    const std::int64_t y = outputs.y, rows = std::min(tap_lines_, g_.out.height - y);
    TapRows taps{};
    taps.from = (has_planes() ? numbers(memory, planes_at_) : outputs.frame) +
                y * g_.strides.height * plane_width();
    taps.offsets = tap_offsets_.data(), taps.taps = std::ssize(tap_offsets_), taps.rows = rows;
    taps.row_stride = g_.strides.height * plane_width(), taps.width = g_.out.width;
    taps.to = numbers(memory, taps_at_), taps.pitch = tap_pitch_, taps.length = tap_length_;
    pass.bf16->side_by_side.tap_rows(taps);
    std::fill(taps.to + taps.taps * tap_length_, taps.to + g_.depth() * tap_length_, Bf16{});
    const std::int64_t across = g_.out.width / g_.pool.width,
                       first = y / g_.pool.height * across * window_stride(),
                       plane = windows_ * window_stride();
    // A tiled sample is a row of its block's tiles.
    const std::int64_t at = out_->tiled ? sample / tile_samples * tile_samples : sample,
                       row = (sample - at) * unit;
    const float* gradient = pass.at(out_->gradient, at, thread) + first + row;
    const std::uint8_t* winner =
        pooled_ ? pass.at<std::uint8_t>(kept, at, thread) + first + row : nullptr;
    Bf16* gradients = numbers(memory, gradients_at_);
    const std::int64_t of_unit = tap_length_ / tile_channels * tile_size;
    for (std::int64_t u = outputs.units.begin; u < outputs.units.end; ++u)
      pass.bf16->side_by_side.gradient_rows(
          {gradient + u * plane, winner ? winner + u * plane : nullptr, window_stride(), rows,
           g_.out.width, g_.pool.height, g_.pool.width, gradients + u * of_unit, tap_length_ / 2,
           adds_bias_by_windows() ? weights + g_.columns() * g_.depth() + u * unit : nullptr});
    PairProduct p{};
    p.a_row = tap_length_, p.a_next = unit * tap_length_, p.b_next = of_unit;
    PairGroup group{tap_steps_.data(), std::ssize(tap_steps_), nullptr};
    p.groups = &group, p.group_count = 1, p.configures = true;
    for (std::int64_t n = outputs.units.begin * unit; n < outputs.units.end * unit;) {
      const std::int64_t panel_first = n / panel * panel,
                         width = std::min(panel, g_.columns() - panel_first);
      // Two units of one panel.
      p.across = n + unit < std::min(outputs.units.end * unit, panel_first + panel) ? 2 : 1;
      p.b = gradients + n / unit * of_unit;
      p.d_row = width, p.d_next = unit * width;
      for (std::int64_t k = 0; k < g_.depth(); k += 2 * unit) {
        p.a = taps.to + k * tap_length_, p.down = k + unit < g_.depth() ? 2 : 1;
        group.d = weights + panel_first * g_.depth() + k * width + n - panel_first;
        pass.bf16->sample_tiles.pairs(p);
        p.configures = false;
      }
      n += p.across * unit;
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
  std::vector<TapStep> steps_;
  std::vector<TapGroup> groups_;
  std::vector<Chunk> chunks_;
  std::int64_t most_sums_ = 0;
  std::vector<std::int32_t> tap_offsets_;
  std::vector<PairStep> tap_steps_;
  std::int64_t tap_pitch_, tap_lines_, tap_length_;
  core::Bytes patches_at_, sums_at_, planes_at_, taps_at_, gradients_at_;
};

}  // namespace

std::unique_ptr<Op> make_first_conv_on_tiles(std::string name, const ConvGeometry& geometry,
                                             Tensor* out) {
  return std::make_unique<FirstConvOnTiles>(std::move(name), geometry, out);
}

}  // namespace sweetspot::engine::cpu
