#include "engine/cuda/ops/product.h"

#include <algorithm>
#include <array>

#include "core/random.h"
#include "engine/cuda/kernels/few_filters.h"
#include "engine/cuda/kernels/few_outputs.h"
#include "engine/cuda/kernels/tap_products.h"
#include "engine/cuda/ops/packed_tiles.h"

namespace sweetspot::engine::cuda {
namespace {

// Samples that a block of the on-chip kernels takes at a time: more if there are more samples than
// blocks, 0 if not even one fits. fp32 decides for all precisions, so that plans do not depend on
// them.
int on_chip_samples(const Chip& chip, GemmKind kind, const ConvShape& shape, std::int64_t count,
                    std::int64_t blocks) {
  constexpr std::int64_t most = 4;
  if (!on_chip_supports(shape)) return 0;
  const auto fits = [&](std::int64_t samples) {
    return on_chip_shared_bytes(kind, shape, static_cast<int>(samples), sizeof(float)) <=
           chip.shared_bytes;
  };
  const std::int64_t wanted = std::clamp<std::int64_t>((count + blocks - 1) / blocks, 1, most);
  for (std::int64_t samples = wanted; samples <= most; ++samples)
    if (fits(samples)) return static_cast<int>(samples);
  for (std::int64_t samples = wanted; samples > 0; --samples)
    if (fits(samples)) return static_cast<int>(samples);
  return 0;
}

// Of one block per sample, in fp32.
double on_chip_clocks(const Chip& chip, const GemmPart& part) {
  const double multiplications = on_chip_rate(chip);
  const ConvShape& s = part.shape;
  const int positions = part.kind == GemmKind::data ? s.in_h * s.in_w : s.positions();
  return static_cast<double>(positions) * s.depth() * s.filters / multiplications;
}

// Uses the on-chip kernel if possible; otherwise the product would have this size.
bool choose_on_chip(const Chip& chip, GemmPart& part, Math math, const ProductSize& size) {
  const int multiprocessors = chip.multiprocessors;
  const int samples = on_chip_samples(chip, part.kind, part.shape, part.count, multiprocessors);
  if (samples == 0) return false;
  part.tile = TileKind::on_chip, part.tiles_m = part.tiles_n = 1;
  part.split_depth = samples, part.splits = std::min(multiprocessors, tiles(part.count, samples));
  // With fewer samples than multiprocessors, several blocks share one.
  const bool forward = part.kind == GemmKind::forward;
  if (forward && part.shape.filters == 64 && 2 * part.count <= multiprocessors) part.tiles_n = 2;
  const int rows = forward ? part.shape.positions() : part.shape.in_h * part.shape.in_w;
  part.tiles_m = std::clamp(multiprocessors / (part.count * part.tiles_n), 1, tiles(rows, 32));
  if (on_chip_shared_bytes(part.kind, part.shape, samples, sizeof(float),
                           part.tiles_m * part.tiles_n) <= chip.shared_bytes)
    return true;
  part.tiles_m = part.tiles_n = 1;
  if (part.kind == GemmKind::weights || part.gradient_slices > 1)
    return true;  // only these kernels add slices of a gradient
  // One block per sample leaves part of the chip idle: other kernels divide samples more finely,
  // though on the tensor cores they are slower than expected.
  if (math == Math::fp32)
    return on_chip_clocks(chip, part) <=
           expected_clocks(chip, size, choose_tiles(chip, size, math), math);
  return 4 * part.count > multiprocessors;
}

// Whether the forward pass with few filters has its own kernel.
bool runs_few_filters(const Chip& chip, const ConvShape& shape, const Tensor& out, bool dropout,
                      std::int64_t micro_batch, Math math) {
  if (dropout || on_chip_supports(shape) || !few_outputs_support(shape, out.channels, false))
    return false;
  const FewOutputs few =
      few_outputs_part(shape, out.channels, static_cast<int>(micro_batch), false);
  // Fewer would leave most of the chip idle.
  constexpr std::int64_t many_positions = 64;  // per multiprocessor
  if (few.positions < many_positions * chip.multiprocessors) return false;
  const ProductSize plain{few.positions, shape.filters, shape.depth(), dense(shape)};
  // Products with few columns take less than expected, above all in fp32.
  const double margin = math == Math::fp32 ? 1.7 : 1.2;
  return margin * few_outputs_clocks(few, chip.multiprocessors) <
         expected_clocks(chip, plain, choose_tiles(chip, plain, math), math);
}

}  // namespace

bool runs_on_chip(const Chip& chip, const ConvShape& shape) {
  for (const GemmKind kind : {GemmKind::forward, GemmKind::data, GemmKind::weights})
    if (on_chip_samples(chip, kind, shape, 1, 1) == 0) return false;
  return true;
}

namespace {

class Product final : public ProductOp {
 public:
  Product(std::string name, const ConvShape& shape, bool relu,
          const std::optional<FusedDropout>& dropout, const ProductWeights& weights, Tensor* in,
          Tensor* out, bool few_channels, const Chip& chip)
      : ProductOp(std::move(name), in, out),
        chip_(chip),
        shape_(shape),
        relu_(relu),
        dropout_(dropout),
        weights_(weights),
        few_channels_(few_channels) {
    if (dropout_) out->gradient_scale = static_cast<float>(1 / (1 - dropout_->rate));
    // Only the on-chip kernels add slices of a gradient.
    out->sliceable = on_chip_samples(chip, GemmKind::data, shape, 1, 1) > 0 &&
                     on_chip_samples(chip, GemmKind::weights, shape, 1, 1) > 0;
  }

  std::string method() const override {
    return product_method(shape_, relu_, dropout_.has_value()) +
           (few_channels_ || few_weights_ ? ", few channels" : "") +
           (few_filters_ || few_filters_data_ || patch_weights_ ? ", few filters" : "");
  }

  void claim(Planner& planner) override {
    const std::int64_t count = planner.micro_batch();
    forward_ = choose_tiles(chip_, forward_size(count), planner.math());
    few_filters_ = !few_channels_ && runs_few_filters(chip_, shape_, *out_, dropout_.has_value(),
                                                      count, planner.math());
    if (!few_channels_ && !few_filters_) claim_scratch(planner, forward_, forward_size(count));
    if (head_follows && shape_.taps() == 1 && shape_.positions() == 1) claim_slices(planner);
    if (!planner.training()) return;
    // In fp32 slices of the gradient must not bring a product on chip that is slower there.
    if (planner.math() == Math::fp32) out_->sliceable &= gradient_stays_on_chip(count);
    data_ = choose_tiles(chip_, data_size(count), planner.math());
    few_filters_data_ = wants_input_gradient && runs_few_filters_data(count, planner.math());
    if (wants_input_gradient && !few_filters_data_) claim_scratch(planner, data_, data_size(count));
    if (wants_input_gradient && in_->sliceable && shape_.taps() == 1 && shape_.positions() == 1)
      claim_gradient_slices(planner);
    // The head blocks the gradient wherever its finished value is zero.
    coded_ = has_code() && unfinished.count == 0;
    if (coded_) code_ = planner.claim_samples(static_cast<core::Bytes>(shape_.out_floats()));
    choice_ = choose_weight_gradient(chip_, shape_, planner.micro_batch(), planner.math());
    few_weights_ =
        runs_few_channels_weights(chip_, shape_, *in_, planner.micro_batch(), planner.math());
    if (few_weights_)
      choice_.splits = few_weights(static_cast<int>(planner.micro_batch()), planner.math()).splits;
    patch_weights_ = runs_patch_weights(count, planner.math());
    if (patch_weights_)
      choice_.splits = patch_weights(static_cast<int>(count), planner.math()).splits;
    partials_.weights = weights_.kernel;
    partials_.floats =
        std::int64_t{shape_.depth()} * shape_.filters + (weights_.bias ? shape_.filters : 0);
    partials_.splits = choice_.splits;
    partials_.offset = planner.claim_partials(partials_.floats * choice_.splits);
    if (weights_.operands)
      partials_.operands = *weights_.operands,
      partials_.operand_count = std::int64_t{shape_.depth()} * shape_.filters;
  }
  std::vector<PartialGradients> partials() const override { return {partials_}; }
  bool writes_terms() const override {
    return function == Function::linear &&
           on_chip_samples(chip_, GemmKind::forward, shape_, 1, 1) == 0;
  }
  bool writes_terms_freely() const override { return false; }  // a separate, larger kernel does
  bool takes_function() const override { return !runs_on_chip_any(); }
  bool passes_through_function() const override {
    return on_chip_samples(chip_, GemmKind::data, shape_, 1, 1) == 0;
  }

  void forward(Pass& pass) const override {
    GemmPart part = common(pass);
    part.kind = GemmKind::forward, part.phases = 1;
    if (unfinished.count > 0) {
      part.slices = pass.at(unfinished.slices), part.slice_stride = unfinished.stride;
      split(part, shape_.filters, shape_.channels, unfinished.count);
      pass.run(part);
      return;
    }
    if (!pass.training) part.code = nullptr;
    if (few_channels_) {
      FewChannels few = few_channels_pass(shape_, relu_, weights_, *in_, *out_, pass);
      few.code = part.code, few.function = function;
      if (dropout_ && pass.training) few.dropout = dropout_mask(*dropout_, out_->channels, pass);
      check(launch_few_channels(few, pass.stream), "a convolution");
      return;
    }
    if (few_filters_) return forward_few_filters(pass, part);
    if (dropout_ && pass.training) part.dropout = dropout_mask(*dropout_, out_->channels, pass);
    if (first_ && first_->merged_forward(pass)) {
      one_sample_a_block(part, pass.count);
      pass.run(MergedForward{part, first_->forward_part(pass)});
      return;
    }
    if (!choose_on_chip(chip_, part, pass.math, forward_size(pass.count)))
      use(part, forward_, forward_size(pass.count), pass);
    pass.run(part);
  }

  void merge(FirstConvOp& first, std::int64_t micro_batch) override {
    // One sample per block: with more samples than multiprocessors, or so few that several blocks
    // would share each, separate passes are faster.
    if (micro_batch > chip_.multiprocessors || 3 * micro_batch < chip_.multiprocessors ||
        !merges(first.shape(), shape_, chip_))
      return;
    if (choose_weight_gradient(chip_, shape_, micro_batch, Math::fp32).tile != TileKind::on_chip)
      return;
    first_ = &first, first.merged = true;
  }

  void backward(Pass& pass) const override {
    if (first_) return merged_backward(pass);
    undo_function(pass);
    if (wants_input_gradient && runs_few_channels_gradient(shape_, *in_, *out_, pass.math, false)) {
      run_few_channels_gradient(shape_, weights_, *in_, *out_, common(pass).code, pass);
    } else if (few_filters_data_) {
      run_few_filters_data(pass);
    } else if (wants_input_gradient) {
      GemmPart part = common(pass);
      part.kind = GemmKind::data;
      part.scale = in_->gradient_scale, part.input_function = in_->gradient_function;
      part.input_gradient = part.slices = pass.at(in_->gradient);
      part.slice_stride = in_->gradient_stride;
      if (in_->gradient_slices > 1)
        split(part, shape_.channels, shape_.filters, in_->gradient_slices, wide_slices_);
      else if (!choose_on_chip(chip_, part, pass.math, data_size(pass.count)))
        use(part, data_, data_size(pass.count), pass);
      pass.add(part);
    }
    GemmPart part = common(pass);
    set_weight_gradient(part, choice_);
    part.partials = pass.partials + partials_.offset, part.partial_stride = partials_.floats;
    if (patch_weights_) return run_patch_weights(part, pass);
    if (few_weights_) return run_few_weights(part, pass);
    pass.add(part);
    pass.flush();
  }

 private:
  ProductSize forward_size(std::int64_t count) const {
    const std::int64_t windows = count * shape_.windows();
    // Rows with pooling come in groups of 8 windows.
    return {shape_.pool == 2 ? (windows + 7) / 8 * 32 : windows, shape_.filters, shape_.depth(),
            dense(shape_)};
  }
  ProductSize data_size(std::int64_t count) const {
    const GradientPhases phases(shape_);
    return {count * phases.height * phases.width, shape_.channels,
            phases.taps_y * phases.taps_x * shape_.filters, dense(shape_), phases.count};
  }
  bool gradient_stays_on_chip(std::int64_t count) const {
    GemmPart part = product_part(shape_, static_cast<int>(count));
    part.kind = GemmKind::data, part.gradient_slices = 1;
    return choose_on_chip(chip_, part, Math::fp32, data_size(count));
  }
  static void claim_scratch(Planner& planner, const TileChoice& choice, const ProductSize& size) {
    const TileChoice::Scratch scratch = choice.scratch(size);
    planner.claim_scratch(scratch.bytes, scratch.tickets);
  }
  static void use(GemmPart& part, const TileChoice& choice, const ProductSize& size,
                  const Pass& pass) {
    part.tile = choice.tile, part.splits = choice.splits, part.split_depth = choice.split_depth;
    part.tiles_m = tiles(size.rows, tile_rows(choice.tile));
    part.tiles_n = tiles(size.columns, tile_columns(choice.tile));
    part.clustered = choice.clustered;
    if (choice.splits > 1 && !choice.clustered)
      part.slices = pass.scratch, part.tickets = pass.tickets;
  }

  // A small batch has few tiles: the depth is divided too, and the reader of the result adds it.
  static int wide_tiles(std::int64_t rows, int columns) {
    return tiles(rows, 128) * tiles(columns, 64);
  }
  int slices_for(std::int64_t rows, int columns, int depth, int blocks) const {
    return std::clamp(wide_tiles_fill(chip_, rows, columns)
                          ? chip_.multiprocessors / wide_tiles(rows, columns)
                          : blocks / (tiles(rows, 32) * tiles(columns, 32)),
                      1, tiles(depth, 128));
  }
  void split(GemmPart& part, int columns, int depth, int slices, bool wide = false) const {
    wide |= wide_tiles_fill(chip_, part.count, columns);
    part.tile = wide ? TileKind::wide : TileKind::small, part.splits = slices;
    part.tiles_m = tiles(part.count, wide ? 128 : 32),
    part.tiles_n = tiles(columns, wide ? 64 : 32);
    part.split_depth = tiles(tiles(depth, slices), 4) * 4;
  }
  void claim_slices(Planner& planner) {
    // Two blocks per multiprocessor: nothing else runs concurrently.
    const int slices = slices_for(planner.micro_batch(), shape_.filters, shape_.channels,
                                  2 * chip_.multiprocessors);
    if (slices == 1) return;
    unfinished.count = slices, unfinished.stride = planner.micro_batch() * shape_.filters;
    unfinished.slices =
        planner.claim(static_cast<core::Bytes>(slices * unfinished.stride) * sizeof(float));
    unfinished.relu = relu_, unfinished.dropout = dropout_, unfinished.bias = weights_.bias;
  }
  void claim_gradient_slices(Planner& planner) {
    int slices =
        slices_for(planner.micro_batch(), shape_.channels, shape_.filters, chip_.multiprocessors);
    // If small tiles leave nothing to divide, wide ones load a fraction of what those do.
    if (slices == 1) {
      const int wide = wide_tiles(planner.micro_batch(), shape_.channels);
      const int most = std::min(chip_.multiprocessors / wide, tiles(shape_.filters, 128));
      if (most > 1 && wide * most >= enough_blocks(chip_)) slices = most, wide_slices_ = true;
    }
    if (slices == 1) return;
    in_->gradient_slices = slices, in_->gradient_stride = planner.micro_batch() * shape_.channels;
    in_->gradient =
        planner.claim(static_cast<core::Bytes>(slices * in_->gradient_stride) * sizeof(float));
  }

  // Whether the input gradient with few filters has its own kernel.
  bool runs_few_filters_data(std::int64_t count, Math math) const {
    const bool fp32 = math == Math::fp32;
    if (on_chip_supports(shape_) || !few_filters_data_support(shape_, out_->channels, fp32))
      return false;
    const FewFiltersData few =
        few_filters_data_part(shape_, out_->channels, static_cast<int>(count), fp32);
    const ProductSize plain = data_size(count);
    constexpr double margin = 1.1;
    return margin * few_filters_data_clocks(few, chip_.multiprocessors) <
           expected_clocks(chip_, plain, choose_tiles(chip_, plain, math), math);
  }
  void run_few_filters_data(Pass& pass) const {
    pass.flush();
    FewFiltersData few =
        few_filters_data_part(shape_, out_->channels, pass.count, pass.math == Math::fp32);
    few.gradient = pass.at(out_->gradient), few.weights = pass.weights + weights_.kernel;
    few.code = common(pass).code, few.scale = in_->gradient_scale;
    few.input_function = in_->gradient_function, few.input = pass.at(in_->value);
    few.input_gradient = pass.at(in_->gradient), few.input_gradient_terms = in_->gradient_terms;
    check(launch_few_filters_data(few, pass.stream), "a convolution's gradient");
  }

  // Whether the weight gradient comes from patches: with few filters, or few channels and filters
  // with many taps.
  bool runs_patch_weights(std::int64_t count, Math math) const {
    if (on_chip_supports(shape_)) return false;
    if (few_weights_ &&
        narrow_weights_pay(shape_, in_->channels, static_cast<int>(count), chip_.multiprocessors))
      return true;
    if (few_weights_ || !few_filters_weights_support(shape_, out_->channels)) return false;
    const ProductSize plain{
        shape_.depth(), shape_.filters, count * shape_.positions(), dense(shape_), 1, true};
    const PatchWeights few = patch_weights(static_cast<int>(count), math);
    constexpr double margin = 1.1;
    return margin * patch_weights_clocks(few, chip_.multiprocessors) <
           expected_clocks(chip_, plain, choose_weight_tiles(chip_, plain, math), math);
  }
  PatchWeights patch_weights(int count, Math math) const {
    const bool fp32 = math == Math::fp32;
    return few_weights_
               ? narrow_weights_part(shape_, in_->channels, count, chip_.multiprocessors, fp32)
               : few_filters_weights_part(shape_, out_->channels, count, chip_.multiprocessors,
                                          fp32);
  }
  void run_patch_weights(const GemmPart& part, Pass& pass) const {
    pass.flush();
    const Aside aside(pass);
    PatchWeights few = patch_weights(pass.count, pass.math);
    divide_among(few, choice_.splits);
    few.input = part.input, few.gradient = part.gradient, few.code = part.code;
    if (few.swapped) std::swap(few.input, few.gradient);
    few.partials = part.partials, few.partial_stride = part.partial_stride;
    few.bias = weights_.bias.has_value(), few.state = part.state;
    check(launch_patch_weights(few, pass.stream), "a convolution's weight gradient");
  }

  FewChannelsWeights few_weights(int count, Math math) const {
    return few_channels_weights_part(shape_, in_->channels, count, chip_.multiprocessors,
                                     math == Math::fp32);
  }
  void run_few_weights(const GemmPart& part, Pass& pass) const {
    pass.flush();
    const Aside aside(pass);
    FewChannelsWeights few = few_weights(pass.count, pass.math);
    // A smaller batch has empty splits.
    few.splits = choice_.splits, few.share = tiles(few.positions, few.splits);
    few.input = part.input, few.gradient = part.gradient, few.code = part.code;
    few.partials = part.partials, few.partial_stride = part.partial_stride;
    few.bias = weights_.bias.has_value(), few.state = part.state;
    check(launch_few_channels_weights(few, pass.stream), "a convolution's weight gradient");
  }

  void forward_few_filters(const Pass& pass, const GemmPart& part) const {
    if (tap_products_pay(shape_, out_->channels, pass.count, false, chip_.multiprocessors)) {
      TapProducts few = tap_products_part(shape_, out_->channels, pass.count, false,
                                          pass.math == Math::fp32, chip_.multiprocessors);
      few.input = part.input, few.weights = part.weights, few.bias = part.bias;
      few.relu = relu_, few.function = function, few.code = part.code;
      few.value = part.value, few.value_terms = part.value_terms;
      check(launch_tap_products(few, pass.stream), "a convolution");
      return;
    }
    FewOutputs few = few_outputs_part(shape_, out_->channels, pass.count, false);
    few.input = part.input, few.weights = part.weights, few.bias = part.bias;
    few.relu = relu_, few.function = function, few.code = part.code;
    few.value = part.value, few.value_terms = part.value_terms;
    check(launch_few_outputs(few, pass.stream), "a convolution");
  }

  static void one_sample_a_block(GemmPart& part, int blocks) {
    part.tile = TileKind::on_chip, part.tiles_m = part.tiles_n = part.split_depth = 1;
    part.splits = blocks;
  }
  void merged_backward(Pass& pass) const {
    MergedBackward parts{};
    parts.data = parts.weights = common(pass);
    parts.first = first_->backward_part(pass);
    parts.data.kind = GemmKind::data, parts.data.scale = in_->gradient_scale;
    one_sample_a_block(parts.data, parts.data_blocks = parts.first.splits);
    set_weight_gradient(parts.weights, choice_);
    parts.weights.partials = pass.partials + partials_.offset;
    parts.weights.partial_stride = partials_.floats;
    parts.weight_blocks = choice_.tiles_m * choice_.tiles_n * choice_.splits;
    pass.run(parts);
  }

  // On-chip kernels have their own epilogues.
  bool runs_on_chip_any() const {
    return std::ranges::any_of(
        std::array{GemmKind::forward, GemmKind::data, GemmKind::weights},
        [&](GemmKind kind) { return on_chip_samples(chip_, kind, shape_, 1, 1) > 0; });
  }
  bool has_code() const { return relu_ || shape_.pool == 2 || dropout_; }

  GemmPart common(const Pass& pass) const {
    GemmPart part = product_part(shape_, pass.count);
    part.relu = relu_, part.function = function, part.outputs = out_->channels;
    part.input = pass.at(in_->value), part.value = pass.at(out_->value);
    part.value_terms = out_->value_terms;
    part.weights = pass.weights + weights_.kernel;
    if (pass.operands && weights_.operands)
      part.operands = pass.operands + operand_bytes(pass.math) * *weights_.operands;
    part.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    part.code = coded_ ? pass.at<std::uint8_t>(code_) : nullptr;
    part.gradient = pass.at(out_->gradient);
    part.gradient_slices = out_->gradient_slices, part.gradient_stride = out_->gradient_stride;
    part.state = pass.state;
    return part;
  }

  Chip chip_;
  ConvShape shape_;
  bool relu_;
  std::optional<FusedDropout> dropout_;
  ProductWeights weights_;
  bool few_channels_;
  core::Bytes code_ = 0;
  bool coded_ = false, wide_slices_ = false, few_weights_ = false, few_filters_ = false;
  bool few_filters_data_ = false, patch_weights_ = false;
  TileChoice forward_, data_;
  WeightGradient choice_;
  PartialGradients partials_;
  const FirstConvOp* first_ = nullptr;
};

}  // namespace

void ProductOp::undo_function(const Pass& pass) const {
  if (function == Function::linear || out_->gradient_function != Function::linear) return;
  Elementwise e{};
  e.function = function, e.count = std::int64_t{pass.count} * out_->floats();
  e.channels = out_->channels, e.padded = out_->pitch;
  e.output = pass.at(out_->value), e.gradient = e.to = pass.at(out_->gradient);
  check(launch_activation_backward(e, pass.stream), "an activation's gradient");
}

std::string product_method(const ConvShape& shape, bool relu, bool dropout) {
  std::string text = shape.taps() > 1 || shape.positions() > 1 ? "convolution" : "matrix product";
  if (relu) text += ", ReLU";
  if (shape.pool == 2) text += ", max pooling";
  if (dropout) text += ", dropout";
  return text;
}

DropoutMask dropout_mask(const FusedDropout& d, int channels, const Pass& pass) {
  DropoutMask mask;
  mask.threshold = static_cast<std::uint32_t>(std::min(d.rate * 0x1p32, 0x1p32 - 1));
  mask.scale = static_cast<float>(1 / (1 - d.rate));
  mask.seed = pass.seed ^ (std::uint64_t{d.layer} << 32);
  mask.counters = static_cast<std::uint32_t>((d.full_size + 63) / 64 * 16);
  mask.full_width = static_cast<std::uint32_t>(d.full_width);
  mask.channels = static_cast<std::uint32_t>(channels);
  mask.first = static_cast<std::uint32_t>(pass.first), mask.ahead = pass.ahead;
  mask.state = pass.state;
  return mask;
}

GemmPart product_part(const ConvShape& s, int count) {
  const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
  GemmPart part{};
  part.shape = s, part.count = count, part.scale = 1;
  part.dense = dense(s);
  part.by_windows = by(s.windows()), part.by_window_w = by(s.out_w / s.pool);
  const GradientPhases phases(s);
  part.phases = phases.count;
  part.by_in = by(phases.height * phases.width), part.by_in_w = by(phases.width);
  part.by_taps_x = by(phases.taps_x), part.by_fewer_taps_x = by(std::max(1, phases.taps_x - 1));
  part.by_out = by(s.positions()), part.by_out_w = by(s.out_w);
  part.by_channels = by(s.channels), part.by_filters = by(s.filters);
  part.by_kernel_w = by(s.kernel_w);
  return part;
}

bool runs_few_channels(const Chip& chip, const ConvShape& shape, const Tensor& in,
                       std::int64_t micro_batch, Math math) {
  return few_channels_support(shape, in.channels, static_cast<int>(micro_batch), math,
                              chip.multiprocessors);
}

FewChannels few_channels_pass(const ConvShape& shape, bool relu, const ProductWeights& weights,
                              const Tensor& in, const Tensor& out, const Pass& pass) {
  FewChannels few = few_channels_part(shape, in.channels, pass.count);
  few.relu = relu, few.fp32 = pass.math == Math::fp32, few.outputs = out.channels;
  few.input = pass.at(in.value), few.value = pass.at(out.value);
  few.value_terms = out.value_terms;
  few.weights = pass.weights + weights.kernel;
  few.bias = weights.bias ? pass.weights + *weights.bias : nullptr;
  return few;
}

bool runs_few_channels_gradient(const ConvShape& shape, const Tensor& in, const Tensor& out,
                                Math math, bool packed) {
  // A product computes a tile of 32 channels in the time of this many.
  const bool strided = !few_outputs_support(shape, in.channels, true);
  const int most = packed ? (strided ? 2 : 3) * packed_terms(math) : most_gradient_channels;
  return in.channels <= most && (!strided || few_channels_gradient_support(shape, in.channels)) &&
         !on_chip_supports(shape) && out.gradient_slices == 1 && out.gradient_terms.terms == 0 &&
         in.gradient_terms.terms == 0;
}

void run_few_channels_gradient(const ConvShape& shape, const ProductWeights& weights,
                               const Tensor& in, const Tensor& out, const std::uint8_t* code,
                               Pass& pass) {
  pass.flush();
  const int multiprocessors = current_chip().multiprocessors;
  const auto with_tensors = [&](auto few) {
    few.input = pass.at(out.gradient), few.weights = pass.weights + weights.kernel;
    few.let_through = code, few.scale = in.gradient_scale;
    few.input_function = in.gradient_function, few.input_value = pass.at(in.value);
    few.input_gradient = pass.at(in.gradient);
    return few;
  };
  if (tap_products_pay(shape, in.channels, pass.count, true, multiprocessors)) {
    const TapProducts few = tap_products_part(shape, in.channels, pass.count, true,
                                              pass.math == Math::fp32, multiprocessors);
    check(launch_tap_products(with_tensors(few), pass.stream), "a convolution's gradient");
    return;
  }
  if (few_outputs_support(shape, in.channels, true)) {
    const FewOutputs few = few_outputs_part(shape, in.channels, pass.count, true);
    check(launch_few_outputs(with_tensors(few), pass.stream), "a convolution's gradient");
    return;
  }
  FewChannelsGradient few = few_channels_gradient_part(shape, in.channels, pass.count);
  few.gradient = pass.at(out.gradient), few.weights = pass.weights + weights.kernel;
  few.code = code, few.scale = in.gradient_scale, few.input_function = in.gradient_function;
  few.input = pass.at(in.value), few.input_gradient = pass.at(in.gradient);
  check(launch_few_channels_gradient(few, pass.stream), "a convolution's gradient");
}

bool runs_few_channels_weights(const Chip& chip, const ConvShape& shape, const Tensor& in,
                               std::int64_t micro_batch, Math math, bool terms) {
  if (!few_channels_weights_support(shape, in.channels)) return false;
  const ProductSize plain{
      shape.depth(), shape.filters, micro_batch * shape.positions(), dense(shape), 1, true};
  double others = expected_clocks(chip, plain, choose_weight_tiles(chip, plain, math), math);
  // Groups of eight that each belong to a different tap are scattered in memory.
  constexpr double scattered = 1.6;
  if (chip.warpgroups && shape.filters % 8 == 0)
    others = std::min(
        others,
        scattered * choose_packed_tiles(
                        chip, PackedSizes(packed_shape(shape), micro_batch, math).weights, math)
                        .clocks);
  const FewChannelsWeights few = few_channels_weights_part(
      shape, in.channels, static_cast<int>(micro_batch), chip.multiprocessors, math == Math::fp32);
  constexpr double margin = 1.1, bytes_a_clock = 2400;  // of the chip
  double clocks = margin * few_channels_weights_clocks(few, chip.multiprocessors);
  // Floats are written and read instead of terms.
  if (terms)
    clocks += 2.0 * (4 - 2 * packed_terms(math)) * few.positions * shape.filters / bytes_a_clock;
  return clocks < others;
}

WeightGradient choose_weight_gradient(const Chip& chip, const ConvShape& s,
                                      std::int64_t micro_batch, Math math) {
  const int multiprocessors = chip.multiprocessors;
  // Next to the input's gradient some 32 blocks fit, if the micro-batch is small.
  constexpr std::int64_t beside = 32;
  const std::int64_t blocks = micro_batch <= multiprocessors ? beside : multiprocessors;
  if (const int samples = on_chip_samples(chip, GemmKind::weights, s, micro_batch, blocks)) {
    constexpr int warps = 16;  // of a block, a tap and 32 channels each
    WeightGradient w{TileKind::on_chip, tiles(s.depth(), 32 * warps), 1};
    w.splits = std::min(multiprocessors, tiles(micro_batch, samples)), w.split_depth = samples;
    // All blocks that fit, if each one's share of the depth still spans this many samples.
    const int steps = tiles(s.positions(), 16);
    const int share = tiles(micro_batch * steps, beside);
    if (w.tiles_m == 1 && w.splits < beside && micro_batch >= beside &&
        micro_batch + beside <= multiprocessors && tiles(share + steps - 1, steps) <= samples)
      w.splits = beside, w.fine = true;
    return w;
  }
  const ProductSize size{s.depth(), s.filters, micro_batch * s.positions(), dense(s), 1, true};
  const TileChoice choice = choose_weight_tiles(chip, size, math);
  return {choice.tile, tiles(size.rows, tile_rows(choice.tile)),
          tiles(size.columns, tile_columns(choice.tile)), choice.splits, choice.split_depth};
}

void set_weight_gradient(GemmPart& part, const WeightGradient& choice) {
  part.kind = GemmKind::weights, part.phases = 1;
  part.tile = choice.tile, part.tiles_m = choice.tiles_m, part.tiles_n = choice.tiles_n;
  part.splits = choice.splits, part.split_depth = choice.split_depth;
  part.fine = choice.fine;
}

std::unique_ptr<ProductOp> make_product(std::string name, const ConvShape& shape, bool relu,
                                        const std::optional<FusedDropout>& dropout,
                                        const ProductWeights& weights, Tensor* in, Tensor* out,
                                        bool few_channels, const Chip& chip) {
  return std::make_unique<Product>(std::move(name), shape, relu, dropout, weights, in, out,
                                   few_channels, chip);
}

}  // namespace sweetspot::engine::cuda
