#include <algorithm>

#include "engine/cuda/matmul.h"
#include "engine/cuda/ops/packed_tiles.h"
#include "engine/cuda/ops/product.h"
#include "engine/cuda/ops/thin_update.h"

namespace sweetspot::engine::cuda {
namespace {

// Rates of an H200 per second; only ratios matter.
constexpr double tf32_operations = 380e12, bf16_operations = 700e12, memory_bytes = 4e12;

std::int64_t rows_of(const ConvShape& s, std::int64_t count) { return count * s.positions(); }

// Whether packed 16-bit operands are faster than unpacked floats, including the packing: products
// of few rows are bound by reading the kernel.
bool packs(const ConvShape& s, std::int64_t count, Math math) {
  if (math != Math::bf16 && math != Math::fp16) return false;
  const auto rows = static_cast<double>(rows_of(s, count)), depth = static_cast<double>(s.channels),
             columns = static_cast<double>(s.filters);
  const double operands = rows * depth + depth * columns;
  const auto seconds = [&](double rate, double operand_bytes) {
    return 3 * std::max(2 * rows * depth * columns / rate,
                        (operand_bytes * operands + 4 * rows * columns) / memory_bytes);
  };
  // Bound by reading the kernel, both move the same number of bytes.
  constexpr double margin = 1.02;
  return margin * (seconds(bf16_operations, 2) + 6 * operands / memory_bytes) <
         seconds(tf32_operations, 4);
}

class MatmulProduct final : public ProductOp {
 public:
  MatmulProduct(std::string name, const ConvShape& shape, bool relu,
                const std::optional<FusedDropout>& dropout, const ProductWeights& weights,
                Tensor* in, Tensor* out, bool packed)
      : ProductOp(std::move(name), in, out),
        shape_(shape),
        relu_(relu),
        dropout_(dropout),
        weights_(weights),
        packed_(packed) {
    if (dropout_) out->gradient_scale = static_cast<float>(1 / (1 - dropout_->rate));
  }

  std::string method() const override {
    return product_method(shape_, relu_, dropout_.has_value()) + ", cuBLASLt";
  }

  void merge(FirstConvOp&, std::int64_t) override {}

  void claim(Planner& planner) override {
    planner.claim_scratch(matmul_workspace_bytes, 0);
    planner.claim_branch_scratch(matmul_workspace_bytes);
    if (packed_) {
      const core::Bytes input =
          static_cast<core::Bytes>(shape_.in_floats()) * sizeof(std::uint16_t);
      if (in_->value_terms.terms > 0)
        input_ = in_->value;
      else if (planner.training())
        input_ = planner.claim_samples(input);
      else
        planner.claim_packed_input(input);
      if (!weights_.operands)
        kernel_ = planner.claim(static_cast<core::Bytes>(kernel_floats()) * sizeof(std::uint16_t));
    }
    if (!planner.training()) return;
    coded_ = relu_ || dropout_;
    if (coded_) code_ = planner.claim_samples(static_cast<core::Bytes>(shape_.out_floats()));
    const bool handed = out_->gradient_terms.terms > 0;
    if ((packed_ || coded_) && !handed)
      gradient_ = planner.claim_packed_gradient(static_cast<core::Bytes>(shape_.out_floats()) *
                                                (packed_ ? sizeof(std::uint16_t) : sizeof(float)));
    kernel_partials_.weights = weights_.kernel, kernel_partials_.floats = kernel_floats();
    kernel_partials_.splits = splits(planner.chip());
    kernel_partials_.offset = planner.claim_partials(kernel_floats() * kernel_partials_.splits);
    if (weights_.operands)
      kernel_partials_.operands = *weights_.operands,
      kernel_partials_.operand_count = kernel_floats();
    // With few samples products of their own for the gradients cost more than the update does with
    // them.
    kernel_partials_.in_place = dense(shape_) && planner.micro_batch() <= thin_most_samples &&
                                !packed_ && !weights_.operands;
    if (kernel_partials_.in_place) update_.claim(planner, shape_, wants_input_gradient);
    constexpr std::int64_t rows_each = 32;
    slices_ = static_cast<int>(std::clamp<std::int64_t>(
        rows_of(shape_, planner.micro_batch()) / rows_each, 1, 4 * planner.chip().multiprocessors));
    if (out_->gradient_sum_slices > 0) slices_ = out_->gradient_sum_slices;
    if (!weights_.bias) {
      out_->gradient_sum_slices = 0;
      return;
    }
    bias_partials_.weights = *weights_.bias, bias_partials_.floats = shape_.filters;
    bias_partials_.splits = slices_;
    bias_partials_.offset = planner.claim_partials(bias_partials_.floats * slices_);
    bias_partials_.in_place = kernel_partials_.in_place;
    if (handed) out_->gradient_sums = bias_partials_.offset, out_->gradient_sum_slices = slices_;
  }
  std::vector<PartialGradients> partials() const override {
    std::vector<PartialGradients> list{kernel_partials_};
    if (weights_.bias) list.push_back(bias_partials_);
    return list;
  }
  bool rounds() const override { return packed_; }  // tf32 has the range of floats
  void leave_update() override { kernel_partials_.in_place = bias_partials_.in_place = false; }
  bool reads_terms(const Planner&) const override { return packed_; }
  bool reads_gradient_terms(const Planner&) const override {
    return packed_ && !relu_ && !dropout_;
  }
  // The library adds a bias in the result's precision only, and `finish` has floats.
  bool writes_terms() const override { return packed_ && !relu_ && !dropout_ && !weights_.bias; }
  bool writes_gradient_terms(const Planner&) const override {
    return packed_ && wants_input_gradient;
  }
  bool writes_gradient_sums() const override { return false; }

  void forward(Pass& pass) const override {
    if (packed_) pack(pass);
    Matmul m = common(pass);
    m.rows = rows_of(shape_, pass.count), m.depth = shape_.channels, m.columns = shape_.filters;
    m.left = input(pass), m.right = kernel(pass), m.to = pass.at(out_->value);
    m.to_bf16 = out_->value_terms.terms > 0;
    m.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    run(m);
    if (relu_ || (dropout_ && pass.training)) finish(pass);
  }

  void backward(Pass& pass) const override {
    pass.flush();
    if (kernel_partials_.in_place && pass.in_place.weights) return update_in_place(pass);
    const void* gradient = pass.at(out_->gradient);
    if (out_->gradient_terms.terms == 0 && (packed_ || coded_ || weights_.bias)) {
      route(pass);
      if (packed_ || coded_) gradient = packed_gradient(pass);
    }
    Matmul m = common(pass);
    if (wants_input_gradient) {
      m.rows = rows_of(shape_, pass.count), m.depth = shape_.filters, m.columns = shape_.channels;
      m.left = gradient, m.right = kernel(pass), m.right_turned = true;
      m.factor = in_->gradient_scale, m.to = pass.at(in_->gradient);
      m.to_bf16 = in_->gradient_terms.terms > 0;
      run(m);
    }
    const Aside aside(pass);
    m = common(pass);
    m.rows = shape_.channels, m.columns = shape_.filters;
    m.splits = kernel_partials_.splits, m.depth = rows_of(shape_, pass.count) / m.splits;
    m.left = input(pass), m.left_turned = true, m.right = gradient;
    m.to = pass.partials + kernel_partials_.offset;
    run(m);
  }

 private:
  // Splits of the weight gradient's depth, if its tiles are few: parts of all images together,
  // which the update adds.
  int splits(const Chip& chip) const {
    constexpr int rows_of_tile = 128, columns_of_tile = 64;
    const int wanted =
        2 * chip.multiprocessors /
        (tiles(shape_.channels, rows_of_tile) * tiles(shape_.filters, columns_of_tile));
    for (int n = std::min(wanted, shape_.positions()); n > 1; --n)
      if (shape_.positions() % n == 0) return n;
    return 1;
  }
  std::int64_t kernel_floats() const { return std::int64_t{shape_.channels} * shape_.filters; }
  std::uint16_t* packed_input(const Pass& pass) const {
    return input_ ? pass.at<std::uint16_t>(*input_) : pass.packed_input;
  }
  std::uint16_t* packed_gradient(const Pass& pass) const {
    return gradient_ ? pass.at<std::uint16_t>(*gradient_) : pass.packed_gradient;
  }
  const void* input(const Pass& pass) const {
    return packed_ ? static_cast<const void*>(packed_input(pass)) : pass.at(in_->value);
  }
  const void* kernel(const Pass& pass) const {
    if (!packed_) return pass.weights + weights_.kernel;
    return weights_.operands ? pass.operands + operand_bytes(pass.math) * *weights_.operands
                             : pass.at<std::byte>(kernel_);
  }
  Matmul common(const Pass& pass) const {
    Matmul m;
    m.bf16 = packed_, m.workspace = pass.scratch, m.stream = pass.stream;
    return m;
  }

  void pack(const Pass& pass) const {
    Packings p{};
    p.terms = 1;
    const auto flat = [](const float* from, std::uint16_t* to, std::int64_t rows, int width) {
      return Packing{
          from, to, rows, 0, width, width, Divider(static_cast<std::uint32_t>(width / 8))};
    };
    if (in_->value_terms.terms == 0)
      p.input = flat(pass.at(in_->value), packed_input(pass), rows_of(shape_, pass.count),
                     shape_.channels);
    if (!weights_.operands)
      p.kernel = flat(pass.weights + weights_.kernel, pass.at<std::uint16_t>(kernel_),
                      shape_.channels, shape_.filters);
    if (p.input.rows + p.kernel.rows > 0) check(launch_packing(p, pass.stream), "packing operands");
  }

  void finish(const Pass& pass) const {
    Finishing f{};
    f.value = pass.at(out_->value), f.relu = relu_;
    f.code = pass.training ? pass.at<std::uint8_t>(code_) : nullptr;
    f.rows = rows_of(shape_, pass.count), f.filters = shape_.filters;
    const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
    f.few = f.rows * (f.filters / 4) < std::int64_t{1} << 31;
    f.by_quads = by(f.filters / 4), f.by_positions = by(shape_.positions());
    f.by_width = by(shape_.out_w);
    if (dropout_ && pass.training) f.dropout = dropout_mask(*dropout_, out_->channels, pass);
    check(launch_finishing(f, pass.stream), "a matrix product's activation");
  }

  void update_in_place(const Pass& pass) const {
    GemmPart part = product_part(shape_, pass.count);
    part.input = pass.at(in_->value), part.gradient = pass.at(out_->gradient);
    part.code = coded_ ? pass.at<std::uint8_t>(code_) : nullptr;
    part.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    if (wants_input_gradient)
      part.input_gradient = pass.at(in_->gradient), part.scale = in_->gradient_scale;
    update_.run(part, weights_.kernel, pass);
  }

  // The gradient after ReLU and dropout, and the bias's.
  void route(const Pass& pass) const {
    GradientPacking p{};
    p.gradient = pass.at(out_->gradient), p.terms = 1;
    p.code = coded_ ? pass.at<std::uint8_t>(code_) : nullptr;
    if (packed_)
      p.to = packed_gradient(pass);
    else if (coded_)
      p.floats = reinterpret_cast<float*>(packed_gradient(pass));
    p.rows = static_cast<int>(rows_of(shape_, pass.count)), p.filters = shape_.filters;
    p.pool = 1, p.slices = slices_;
    if (weights_.bias) p.sums = pass.partials + bias_partials_.offset;
    check(launch_gradient_packing(p, pass.stream), "packing a gradient");
  }

  ConvShape shape_;
  bool relu_;
  std::optional<FusedDropout> dropout_;
  ProductWeights weights_;
  bool packed_, coded_ = false;
  std::optional<core::Bytes> input_;     // kept for the backward pass, or written by the producer
  std::optional<core::Bytes> gradient_;  // after ReLU and dropout
  core::Bytes kernel_ = 0, code_ = 0;
  int slices_ = 1;
  PartialGradients kernel_partials_, bias_partials_;
  ThinUpdatePass update_;
};

}  // namespace

bool runs_matmul(const ConvShape& s, std::int64_t micro_batch, Math math) {
  constexpr double many = 2e8;  // multiplications: fewer are dominated by launch latency
  constexpr std::int64_t some_rows = 8;
  // In fp16 only floats in place: an overflow of packed operands would go undetected.
  const bool in_time = math == Math::fp16 ? !packs(s, micro_batch, math) : math != Math::fp32;
  return in_time && s.taps() == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pool == 1 &&
         s.positions() == s.in_h * s.in_w && s.channels % 8 == 0 && s.filters % 8 == 0 &&
         rows_of(s, micro_batch) >= some_rows &&
         static_cast<double>(rows_of(s, micro_batch)) * s.channels * s.filters >= many &&
         has_matmul();
}

std::unique_ptr<ProductOp> make_matmul_product(std::string name, const ConvShape& shape, bool relu,
                                               const std::optional<FusedDropout>& dropout,
                                               const ProductWeights& weights, Tensor* in,
                                               Tensor* out, std::int64_t micro_batch, Math math) {
  return std::make_unique<MatmulProduct>(std::move(name), shape, relu, dropout, weights, in, out,
                                         packs(shape, micro_batch, math));
}

}  // namespace sweetspot::engine::cuda
