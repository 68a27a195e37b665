#include <algorithm>

#include "engine/cuda/ops/product.h"
#include "engine/cuda/ops/thin_update.h"
#include "engine/cuda/ops/tiles.h"

namespace sweetspot::engine::cuda {
namespace {

class ThinProduct final : public ProductOp {
 public:
  ThinProduct(std::string name, const ConvShape& shape, bool relu,
              const std::optional<FusedDropout>& dropout, const ProductWeights& weights, Tensor* in,
              Tensor* out)
      : ProductOp(std::move(name), in, out),
        shape_(shape),
        relu_(relu),
        dropout_(dropout),
        weights_(weights) {
    if (dropout_) out->gradient_scale = static_cast<float>(1 / (1 - dropout_->rate));
  }

  std::string method() const override {
    return product_method(shape_, relu_, dropout_.has_value()) + ", few samples";
  }

  void merge(FirstConvOp&, std::int64_t) override {}

  void claim(Planner& planner) override {
    const std::int64_t samples = planner.micro_batch();
    forward_ = divide(planner, tiles(shape_.filters, thin_filters), shape_.channels,
                      thin_forward_floats(samples));
    if (!planner.training()) return;
    if (wants_input_gradient)
      data_ = divide(planner, tiles(shape_.channels, thin_inputs), shape_.filters,
                     thin_data_floats(samples));
    coded_ = relu_ || dropout_;
    if (coded_) code_ = planner.claim_samples(static_cast<core::Bytes>(shape_.filters));
    partials_.weights = weights_.kernel;
    partials_.floats =
        std::int64_t{shape_.channels} * shape_.filters + (weights_.bias ? shape_.filters : 0);
    partials_.offset = planner.claim_partials(partials_.floats);
    // Gradients of fewer weights stay in the cache until the update reads them, and that runs
    // beside the rest of the backward pass, if there is any.
    constexpr std::int64_t very_many = 1 << 22;
    partials_.in_place =
        (!wants_input_gradient || partials_.floats >= very_many) && !weights_.operands;
    if (partials_.in_place) update_.claim(planner, shape_, wants_input_gradient);
    if (weights_.operands)
      partials_.operands = *weights_.operands,
      partials_.operand_count = std::int64_t{shape_.channels} * shape_.filters;
  }
  std::vector<PartialGradients> partials() const override { return {partials_}; }
  bool takes_function() const override { return true; }
  bool rounds() const override { return false; }
  void leave_update() override { partials_.in_place = false; }

  void forward(Pass& pass) const override {
    GemmPart part = common(pass, forward_);
    part.kind = GemmKind::forward;
    part.relu = relu_, part.function = function, part.outputs = out_->channels;
    part.value = pass.at(out_->value);
    if (!pass.training) part.code = nullptr;
    if (dropout_ && pass.training) part.dropout = dropout_mask(*dropout_, out_->channels, pass);
    check(launch_thin_forward(part, pass.stream), "a matrix product");
  }

  void backward(Pass& pass) const override {
    pass.flush();
    undo_function(pass);
    if (partials_.in_place && pass.in_place.weights) {
      GemmPart part = common(pass, {});
      if (wants_input_gradient) add_input_gradient(part, pass);
      update_.run(part, weights_.kernel, pass);
      return;
    }
    GemmParts parts{};
    if (wants_input_gradient) {
      parts.data = common(pass, data_);
      parts.data.kind = GemmKind::data;
      add_input_gradient(parts.data, pass);
      parts.data_blocks = data_.tiles * data_.splits;
    }
    GemmPart weights = common(pass, {tiles(shape_.filters, thin_columns)});
    weights.kind = GemmKind::weights;
    weights.partials = pass.partials + partials_.offset;
    parts.weights[0] = weights;
    parts.weight_blocks[0] = weights.tiles_n * tiles(shape_.channels, thin_rows);
    check(launch_thin_backward(parts, pass.stream), "a matrix product");
  }

 private:
  struct Division {
    int tiles = 1, splits = 1, split_depth = 1;
  };
  // Two blocks per multiprocessor, which run concurrently.
  static Division divide(Planner& planner, int tiles_n, int depth, int floats) {
    constexpr int stage = 256;
    Division d{tiles_n};
    const int wanted =
        std::clamp(2 * planner.chip().multiprocessors / tiles_n, 1, tiles(depth, stage));
    d.split_depth = tiles(tiles(depth, wanted), stage) * stage;
    d.splits = tiles(depth, d.split_depth);
    if (d.splits > 1)
      planner.claim_scratch(static_cast<core::Bytes>(tiles_n) *
                                static_cast<core::Bytes>(d.splits * floats) * sizeof(float),
                            tiles_n);
    return d;
  }

  GemmPart common(const Pass& pass, const Division& division) const {
    GemmPart part = product_part(shape_, pass.count);
    part.tiles_n = division.tiles, part.splits = division.splits;
    part.split_depth = division.split_depth;
    part.slices = pass.scratch, part.tickets = pass.tickets;
    part.input = pass.at(in_->value), part.gradient = pass.at(out_->gradient);
    part.weights = pass.weights + weights_.kernel;
    part.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    part.code = coded_ ? pass.at<std::uint8_t>(code_) : nullptr;
    part.state = pass.state;
    return part;
  }
  void add_input_gradient(GemmPart& part, const Pass& pass) const {
    part.input_gradient = pass.at(in_->gradient), part.scale = in_->gradient_scale;
  }

  ConvShape shape_;
  bool relu_;
  std::optional<FusedDropout> dropout_;
  ProductWeights weights_;
  Division forward_, data_;
  core::Bytes code_ = 0;
  bool coded_ = false;
  PartialGradients partials_;
  ThinUpdatePass update_;
};

}  // namespace

bool runs_thin(const ConvShape& shape, std::int64_t micro_batch) {
  constexpr std::int64_t many_weights = 1 << 20;  // fewer are dominated by launch latency
  return dense(shape) && micro_batch <= thin_most_samples &&
         std::int64_t{shape.channels} * shape.filters >= many_weights;
}

std::unique_ptr<ProductOp> make_thin_product(std::string name, const ConvShape& shape, bool relu,
                                             const std::optional<FusedDropout>& dropout,
                                             const ProductWeights& weights, Tensor* in,
                                             Tensor* out) {
  return std::make_unique<ThinProduct>(std::move(name), shape, relu, dropout, weights, in, out);
}

}  // namespace sweetspot::engine::cuda
