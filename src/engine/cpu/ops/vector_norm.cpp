#include <algorithm>

#include "engine/cpu/ops/batch_norm.h"
#include "engine/cpu/ops/norm_statistics.h"
#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {
namespace {

// The vectors of a micro-batch. Sums are taken in blocks of rows and merged in their order, so that
// the threads may divide the features, or the rows if the layers before and after do.
class VectorNorm final : public Op {
 public:
  VectorNorm(std::string name, const BatchNormGeometry& geometry, std::int64_t micro_batch,
             Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        relu_(geometry.relu),
        may_split_rows_(splits_rows(micro_batch, 2)),
        statistics_(geometry, in->extent) {
    shared_floats = statistics_.floats();
    kept.once = true;
    kept.bytes =
        static_cast<core::Bytes>(2 * pieces(micro_batch, block_rows) * stride()) * sizeof(float);
  }

  std::string method() const override {
    return relu_ ? "batch normalisation and ReLU" : "batch normalisation";
  }
  bool whole() const override { return true; }
  bool keeps_input() const override { return true; }
  int forward_phases() const override { return may_split_rows_ ? 3 : 1; }
  int backward_phases() const override { return may_split_rows_ ? 3 : 1; }

  void forward_part(const Pass& pass, int phase, int part, int parts) override {
    in_turn(pass, phase, part, parts, &VectorNorm::measure, &VectorNorm::merge_moments,
            &VectorNorm::normalise);
  }
  void backward_part(const Pass& pass, int phase, int part, int parts) override {
    in_turn(pass, phase, part, parts, &VectorNorm::sum_gradients, &VectorNorm::merge_gradients,
            &VectorNorm::pass_back);
  }

 private:
  static constexpr std::int64_t block_rows = 32;

  float* shared(const Pass& pass) const { return pass.shared + shared_offset; }
  std::int64_t stride() const { return in_->extent.floats(); }
  static std::int64_t blocks(const Pass& pass) { return pieces(pass.count, block_rows); }

  using OfBlock = void (VectorNorm::*)(const Pass&, std::int64_t, const Range&) const;
  using OfUnits = void (VectorNorm::*)(const Pass&, const Range&) const;

  // First, then `merge`, then last. By features a part does all three, strip by strip of a few
  // units, which stay in cache.
  void in_turn(const Pass& pass, int phase, int part, int parts, OfBlock first, OfUnits merge,
               OfBlock last) const {
    const std::int64_t units = statistics_.units();
    const auto all_blocks = [&](OfBlock act, const Range& of, const Range& some_units) {
      for (std::int64_t b = of.begin; b < of.end; ++b) (this->*act)(pass, b, some_units);
    };
    if (may_split_rows_ && splits_rows(pass.count, parts)) {
      if (phase == 1) return (this->*merge)(pass, share(units, part, parts));
      return all_blocks(phase == 0 ? first : last, share(blocks(pass), part, parts), {0, units});
    }
    if (phase > 0) return;
    // A quarter of a kilobyte of each row, or less if some part would have none.
    const std::int64_t strip = std::clamp<std::int64_t>(units / parts, 1, 4);
    const Range mine = share(pieces(units, strip), part, parts);
    for (std::int64_t s = mine.begin; s < mine.end; ++s) {
      const Range some{s * strip, std::min((s + 1) * strip, units)};
      all_blocks(first, {0, blocks(pass)}, some);
      (this->*merge)(pass, some);
      all_blocks(last, {0, blocks(pass)}, some);
    }
  }

  // Of a block's first row.
  std::int64_t offset(std::int64_t block, const Range& units) const {
    return block * block_rows * stride() + units.begin * unit;
  }
  std::int64_t rows_of(const Pass& pass, std::int64_t block) const {
    return std::min(block_rows, pass.count - block * block_rows);
  }
  // Of a block: the first sums of all features, then the second ones.
  float* sums(const Pass& pass, std::int64_t block, std::int64_t first_unit) const {
    return pass.at(kept, 0, 0) + 2 * block * stride() + first_unit * unit;
  }
  Normalise normal(const Pass& pass, std::int64_t block, const Range& units) const {
    return statistics_.forward(shared(pass), units, rows_of(pass, block), stride());
  }

  void measure(const Pass& pass, std::int64_t block, const Range& units) const {
    if (!measures(pass)) return;
    float* to = sums(pass, block, units.begin);
    pass.kernels->moments(pass.at(in_->value, 0, 0) + offset(block, units), units.end - units.begin,
                          rows_of(pass, block), stride(), to, to + stride());
  }

  void merge_moments(const Pass& pass, const Range& units) const {
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      if (!measures(pass)) {
        statistics_.set_moving(pass, shared(pass), u);
        continue;
      }
      const double n = static_cast<double>(pass.count);
      double mean[unit] = {}, variance[unit] = {};
      for (std::int64_t b = 0; b < blocks(pass); ++b)
        for (std::int64_t c = 0; c < unit; ++c)
          mean[c] += static_cast<double>(rows_of(pass, b)) * sums(pass, b, u)[c] / n;
      for (std::int64_t b = 0; b < blocks(pass); ++b)
        for (std::int64_t c = 0; c < unit; ++c) {
          const double d = sums(pass, b, u)[c] - mean[c];
          variance[c] +=
              (sums(pass, b, u)[stride() + c] + static_cast<double>(rows_of(pass, b)) * d * d) / n;
        }
      statistics_.set_measured(pass, shared(pass), u, mean, variance);
    }
  }

  void normalise(const Pass& pass, std::int64_t block, const Range& units) const {
    const std::int64_t at = offset(block, units);
    pass.kernels->normalise(normal(pass, block, units), pass.at(in_->value, 0, 0) + at,
                            pass.at(out_->value, 0, 0) + at);
  }

  void sum_gradients(const Pass& pass, std::int64_t block, const Range& units) const {
    const std::int64_t at = offset(block, units);
    float* g = pass.at(out_->gradient, 0, 0) + at;
    float* to = sums(pass, block, units.begin);
    pass.kernels->normalise_sums(normal(pass, block, units), pass.at(in_->value, 0, 0) + at, g, g,
                                 to, to + stride());
  }

  void merge_gradients(const Pass& pass, const Range& units) const {
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      double sum[unit] = {}, product[unit] = {};
      for (std::int64_t b = 0; b < blocks(pass); ++b)
        for (std::int64_t c = 0; c < unit; ++c)
          sum[c] += sums(pass, b, u)[c], product[c] += sums(pass, b, u)[stride() + c];
      statistics_.set_gradients(pass, shared(pass), u, sum, product,
                                static_cast<double>(pass.count));
    }
  }

  void pass_back(const Pass& pass, std::int64_t block, const Range& units) const {
    if (!wants_input_gradient) return;
    const std::int64_t at = offset(block, units);
    pass.kernels->normalise_back(
        statistics_.backward(shared(pass), units, rows_of(pass, block), stride()),
        pass.at(in_->value, 0, 0) + at, pass.at(out_->gradient, 0, 0) + at,
        pass.at(in_->gradient, 0, 0) + at);
  }

  bool relu_, may_split_rows_;
  Statistics statistics_;
};

}  // namespace

std::unique_ptr<Op> make_vector_norm(std::string name, const BatchNormGeometry& geometry,
                                     std::int64_t micro_batch, Tensor* in, Tensor* out) {
  return std::make_unique<VectorNorm>(std::move(name), geometry, micro_batch, in, out);
}

}  // namespace sweetspot::engine::cpu
