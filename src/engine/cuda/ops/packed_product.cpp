#include <algorithm>

#include "engine/cuda/kernels/packing.h"
#include "engine/cuda/ops/packed_tiles.h"
#include "engine/cuda/ops/product.h"

namespace sweetspot::engine::cuda {
namespace {

class PackedProduct final : public ProductOp {
 public:
  PackedProduct(std::string name, const ConvShape& shape, bool relu,
                const std::optional<FusedDropout>& dropout, const ProductWeights& weights,
                Tensor* in, Tensor* out, bool few_channels)
      : ProductOp(std::move(name), in, out),
        shape_(packed_shape(shape)),
        channels_(shape.channels),
        relu_(relu),
        dropout_(dropout),
        weights_(weights),
        few_channels_(few_channels) {
    if (dropout_) out->gradient_scale = static_cast<float>(1 / (1 - dropout_->rate));
  }

  std::string method() const override {
    const bool tma = forward_.tma || data_.tma || weight_gradient_.tma;
    return product_method(shape_, relu_, dropout_.has_value()) + ", packed operands" +
           (tma ? ", TMA" : "");
  }

  void merge(FirstConvOp&, std::int64_t) override {}

  void claim(Planner& planner) override {
    micro_batch_ = planner.micro_batch();
    const PackedSizes sizes(shape_, micro_batch_, planner.math());
    const auto terms_bytes =
        static_cast<core::Bytes>(packed_terms(planner.math())) * sizeof(std::uint16_t);
    // If it is no smaller than its floats, it is packed again instead of kept.
    const core::Bytes input_bytes = static_cast<core::Bytes>(shape_.in_floats()) * terms_bytes;
    if (in_->value_terms.terms > 0)
      input_ = in_->value;
    else if (planner.training() && packed_terms(planner.math()) == 1)
      input_ = planner.claim_samples(input_bytes);
    else
      planner.claim_packed_input(input_bytes);
    cached_ =
        weights_.operands && packed_terms(planner.math()) == 1 && channels_ == shape_.channels;
    if (!cached_) kernel_ = planner.claim(static_cast<core::Bytes>(kernel_term()) * terms_bytes);
    const auto choose = [&](const PackedSize& size) {
      return choose_packed_tiles(planner.chip(), size, planner.math());
    };
    forward_ = choose(sizes.forward);
    if (!planner.training()) return;
    data_ = choose(sizes.data);
    if (in_->gradient_sum_slices > 0 && wants_input_gradient)
      tile_sums_ = planner.claim(static_cast<core::Bytes>(tile_rows(sizes.data)) *
                                 static_cast<core::Bytes>(channels_) * sizeof(float));
    weight_gradient_ = choose(sizes.weights);
    if (out_->gradient_terms.terms == 0)
      gradient_ = planner.claim_packed_gradient(
          static_cast<core::Bytes>(shape_.positions() * shape_.filters) * terms_bytes);
    coded_ = relu_ || shape_.pool == 2 || dropout_;
    if (coded_) code_ = planner.claim_samples(static_cast<core::Bytes>(shape_.out_floats()));
    if (coded_ && out_->gradient_terms.terms > 0) out_->gradient_code = code_;
    kernel_partials_.weights = weights_.kernel, kernel_partials_.floats = kernel_floats();
    kernel_partials_.splits = weight_gradient_.splits;
    kernel_partials_.offset = planner.claim_partials(kernel_floats() * kernel_partials_.splits);
    if (weights_.operands)
      kernel_partials_.operands = *weights_.operands,
      kernel_partials_.operand_count = kernel_floats();
    // Rows of the gradient per slice, whose sums are the bias gradients.
    constexpr std::int64_t rows_each = 32;
    slices_ = static_cast<int>(std::clamp<std::int64_t>(micro_batch_ * shape_.windows() / rows_each,
                                                        1, 4 * planner.chip().multiprocessors));
    if (out_->gradient_sum_slices > 0) slices_ = out_->gradient_sum_slices;
    if (!weights_.bias) {
      out_->gradient_sum_slices = 0;
      return;
    }
    bias_partials_.weights = *weights_.bias, bias_partials_.floats = shape_.filters;
    bias_partials_.splits = slices_;
    bias_partials_.offset = planner.claim_partials(bias_partials_.floats * slices_);
    if (out_->gradient_terms.terms > 0)
      out_->gradient_sums = bias_partials_.offset, out_->gradient_sum_slices = slices_;
  }
  std::vector<PartialGradients> partials() const override {
    std::vector<PartialGradients> list{kernel_partials_};
    if (weights_.bias) list.push_back(bias_partials_);
    return list;
  }
  bool writes_terms() const override { return function == Function::linear; }
  bool writes_terms_freely() const override { return writes_terms() && !few_channels_; }
  bool reads_gradient_terms(const Planner&) const override {
    return shape_.pool == 1 && function == Function::linear;
  }
  bool routes_gradient() const override { return relu_ || dropout_; }
  bool shows_overflow_late() const override { return true; }
  bool takes_function() const override { return true; }
  bool passes_through_function() const override { return true; }
  bool reads_terms(const Planner&) const override {
    return channels_ == shape_.channels && !few_channels_;
  }
  bool writes_gradient_terms(const Planner&) const override {
    // The sums of a flattened image's elements are not those of its channels.
    return wants_input_gradient && channels_ == shape_.channels && channels_ == in_->pitch;
  }
  bool applies_codes() const override { return true; }
  int gradient_sum_slices(const Planner&) const override { return tile_sum_slices; }

  void forward(Pass& pass) const override {
    if (few_channels_) return forward_few_channels(pass);
    pack(pass, true);
    GemmPart part = common(pass, forward_, PackedSizes(shape_, pass.count, pass.math).forward);
    part.kind = GemmKind::forward, part.phases = 1;
    part.relu = relu_, part.function = function, part.outputs = out_->channels;
    part.value = pass.at(out_->value);
    part.value_terms = out_->value_terms;
    part.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    part.code = coded_ && pass.training ? pass.at<std::uint8_t>(code_) : nullptr;
    if (dropout_ && pass.training) part.dropout = dropout_mask(*dropout_, out_->channels, pass);
    pass.run_packed(part, forward_.columns);
  }

  void backward(Pass& pass) const override {
    pass.flush();
    undo_function(pass);
    if (out_->gradient_terms.terms == 0) pack_gradient(pass);
    const PackedSizes sizes(shape_, pass.count, pass.math);
    if (wants_input_gradient && few_channels_gradient(pass.math)) {
      run_few_channels_gradient(plain_shape(), weights_, *in_, *out_,
                                coded_ ? pass.at<std::uint8_t>(code_) : nullptr, pass);
    } else if (wants_input_gradient) {
      GemmPart part = common(pass, data_, sizes.data);
      part.kind = GemmKind::data, part.scale = in_->gradient_scale;
      part.input = pass.at(in_->value), part.input_function = in_->gradient_function;
      part.input_gradient = pass.at(in_->gradient);
      part.value_terms = in_->gradient_terms;
      if (in_->gradient_code) part.code = pass.at<std::uint8_t>(*in_->gradient_code);
      if (tile_sums_) part.partials = pass.at(*tile_sums_);
      pass.run_packed(part, data_.columns);
      if (tile_sums_)
        check(launch_tile_sums({pass.at(*tile_sums_), pass.partials + in_->gradient_sums,
                                tile_rows(sizes.data), channels_},
                               pass.stream),
              "a bias's gradient");
    }
    const Aside aside(pass, !input_);
    if (!input_) pack(pass, false);
    GemmPart part = common(pass, weight_gradient_, sizes.weights);
    part.kind = GemmKind::weights, part.phases = 1;
    part.partials = pass.partials + kernel_partials_.offset;
    part.partial_stride = kernel_partials_.floats;
    pass.run_packed(part, weight_gradient_.columns);
  }

 private:
  // Here the packed operands are for the backward pass only.
  void forward_few_channels(Pass& pass) const {
    const bool kernel = wants_input_gradient && !few_channels_gradient(pass.math);
    if (pass.training && (input_ || kernel)) pack(pass, kernel);
    FewChannels few = few_channels_pass(plain_shape(), relu_, weights_, *in_, *out_, pass);
    few.function = function;
    few.code = coded_ && pass.training ? pass.at<std::uint8_t>(code_) : nullptr;
    if (dropout_ && pass.training) few.dropout = dropout_mask(*dropout_, out_->channels, pass);
    check(launch_few_channels(few, pass.stream), "a convolution");
  }

  ConvShape plain_shape() const {
    ConvShape shape = shape_;
    shape.channels = channels_;
    return shape;
  }
  bool few_channels_gradient(Math math) const {
    return runs_few_channels_gradient(plain_shape(), *in_, *out_, math, true);
  }

  // Of the input gradient's tiles, all phases.
  int tile_rows(const PackedSize& size) const { return data_.tiles_m(size) * size.phases; }

  std::int64_t kernel_floats() const {
    return std::int64_t{shape_.taps()} * channels_ * shape_.filters;
  }

  std::uint16_t* packed_input(const Pass& pass) const {
    return input_ ? pass.at<std::uint16_t>(*input_) : pass.packed_input;
  }
  std::uint16_t* packed_gradient(const Pass& pass) const {
    return gradient_ ? pass.at<std::uint16_t>(*gradient_) : pass.packed_gradient;
  }
  void pack(const Pass& pass, bool with_kernel) const {
    Packings p{};
    p.terms = packed_terms(pass.math), p.fp16 = pass.math == Math::fp16;
    const auto pack = [](const float* from, std::uint16_t* to, std::int64_t rows, std::int64_t term,
                         int width, int packed) {
      return Packing{
          from, to, rows, term, width, packed, Divider(static_cast<std::uint32_t>(packed / 8))};
    };
    if (in_->value_terms.terms == 0)
      p.input = pack(pass.at(in_->value), packed_input(pass),
                     std::int64_t{pass.count} * shape_.in_h * shape_.in_w, input_term(), channels_,
                     shape_.channels);
    if (with_kernel && !cached_)
      p.kernel =
          pack(pass.weights + weights_.kernel, pass.at<std::uint16_t>(kernel_), shape_.taps(),
               kernel_term(), channels_ * shape_.filters, shape_.channels * shape_.filters);
    if (p.input.rows + p.kernel.rows > 0) check(launch_packing(p, pass.stream), "packing operands");
  }
  void pack_gradient(const Pass& pass) const {
    const GemmPart part = product_part(shape_, pass.count);
    GradientPacking p{};
    p.gradient = pass.at(out_->gradient), p.to = packed_gradient(pass), p.term = gradient_term();
    p.code = coded_ ? pass.at<std::uint8_t>(code_) : nullptr;
    p.terms = packed_terms(pass.math), p.fp16 = pass.math == Math::fp16;
    p.rows = pass.count * shape_.windows(), p.filters = shape_.filters, p.pool = shape_.pool;
    p.out_h = shape_.out_h, p.out_w = shape_.out_w;
    p.by_windows = part.by_windows, p.by_window_w = part.by_window_w;
    p.slices = slices_;
    if (weights_.bias) p.sums = pass.partials + bias_partials_.offset;
    check(launch_gradient_packing(p, pass.stream), "packing a gradient");
  }

  // The distance between planes is the size of the whole micro-batch.
  std::int64_t input_term() const { return micro_batch_ * shape_.in_floats(); }
  std::int64_t kernel_term() const { return std::int64_t{shape_.depth()} * shape_.filters; }
  std::int64_t gradient_term() const { return micro_batch_ * shape_.positions() * shape_.filters; }

  GemmPart common(const Pass& pass, const PackedTiles& choice, const PackedSize& size) const {
    GemmPart part = product_part(shape_, pass.count);
    part.tile = choice.tma ? TileKind::tma : TileKind::packed;
    part.tiles_m = choice.tiles_m(size), part.tiles_n = tiles(size.columns, choice.columns);
    part.splits = choice.splits, part.split_depth = choice.split_depth;
    part.stage_depth = choice.stage_depth;
    part.clustered = choice.splits > 1 && !size.weights, part.state = pass.state;
    part.packed_input = packed_input(pass), part.input_term = input_term();
    part.packed_gradient = out_->gradient_terms.terms > 0 ? pass.at<std::uint16_t>(out_->gradient)
                                                          : packed_gradient(pass);
    part.gradient_term = gradient_term();
    part.operands = cached_ ? pass.operands + operand_bytes(pass.math) * *weights_.operands
                            : pass.at<std::byte>(kernel_);
    part.operand_term = kernel_term();
    part.by_packed_channels = part.by_channels;
    part.by_channels = Divider(static_cast<std::uint32_t>(channels_));
    return part;
  }
  ConvShape shape_;  // with the packed channels
  int channels_;     // of the tensors
  bool relu_;
  std::optional<FusedDropout> dropout_;
  ProductWeights weights_;
  bool few_channels_;
  std::int64_t micro_batch_ = 1;
  std::optional<core::Bytes> input_;      // kept for the backward pass, or written by the producer
  std::optional<core::Bytes> gradient_;   // packed
  std::optional<core::Bytes> tile_sums_;  // of the input gradient's columns
  core::Bytes kernel_ = 0, code_ = 0;
  bool cached_ = false;  // its kernel, by the update
  bool coded_ = false;
  int slices_ = 1;
  PackedTiles forward_, data_, weight_gradient_;
  PartialGradients kernel_partials_, bias_partials_;
};

}  // namespace

std::unique_ptr<ProductOp> make_packed_product(std::string name, const ConvShape& shape, bool relu,
                                               const std::optional<FusedDropout>& dropout,
                                               const ProductWeights& weights, Tensor* in,
                                               Tensor* out, bool few_channels) {
  return std::make_unique<PackedProduct>(std::move(name), shape, relu, dropout, weights, in, out,
                                         few_channels);
}

}  // namespace sweetspot::engine::cuda
