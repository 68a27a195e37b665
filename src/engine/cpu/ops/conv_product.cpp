#include "engine/cpu/ops/conv_product.h"

#include <algorithm>

#include "engine/cpu/ops/minimal_filtering.h"
#include "engine/cpu/ops/patches.h"

namespace sweetspot::engine::cpu {
namespace {

// Weights that exceed an L1 cache, and those that exceed an L2 cache.
constexpr std::int64_t shared_weights = 64 * 1024, streamed_weights = 512 * 1024;
// With more rows, dividing the samples is cheaper: overlapping patches are not written to memory,
// and Winograd saves most of the arithmetic.
constexpr std::int64_t rows_to_multiply = 256, rows_to_filter = 96, rows_to_copy = 64;

class PatchesOp final : public Op {
 public:
  PatchesOp(std::string name, const ConvGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), relu_(geometry.relu), patches_(geometry) {}
  // Describes all three operations.
  std::string method() const override {
    return std::string(relu_ ? "convolution and ReLU" : "convolution") +
           " of all samples as one product";
  }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    patches_.fill(pass.at(in_->value, sample, thread), pass.at(out_->value, sample, thread));
  }
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    float* to = pass.at(in_->gradient, sample, thread);
    std::fill_n(to, in_->extent.floats(), 0.f);
    patches_.add(pass, pass.at(out_->gradient, sample, thread), to);
  }

 private:
  bool relu_;
  Patches patches_;
};

class RowsToImage final : public Op {
 public:
  RowsToImage(std::string name, const Extent& image, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), image_(image) {}
  std::string method() const override { return "rows into an image"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    rows_to_image(image_, pass.at(in_->value, sample, thread),
                  pass.at(out_->value, sample, thread));
  }
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    image_to_rows(image_, pass.at(out_->gradient, sample, thread),
                  pass.at(in_->gradient, sample, thread));
  }

 private:
  Extent image_;
};

}  // namespace

bool runs_as_product(const ConvGeometry& g, std::int64_t micro_batch) {
  if (g.compact) return false;
  const std::int64_t positions = g.out.positions(), weights = g.depth() * g.columns();
  if (positions == 1) return true;  // a dense layer
  const bool overlaps = positions * g.depth() > g.in.floats();
  const std::int64_t most = MinimalFiltering::best(g, micro_batch)   ? rows_to_filter
                            : overlaps && weights < streamed_weights ? rows_to_copy
                                                                     : rows_to_multiply;
  return weights >= shared_weights && micro_batch * positions <= most;
}

std::unique_ptr<Op> make_patches(std::string name, const ConvGeometry& geometry, Tensor* in,
                                 Tensor* out) {
  return std::make_unique<PatchesOp>(std::move(name), geometry, in, out);
}

std::unique_ptr<Op> make_rows_to_image(std::string name, const Extent& image, Tensor* in,
                                       Tensor* out) {
  return std::make_unique<RowsToImage>(std::move(name), image, in, out);
}

}  // namespace sweetspot::engine::cpu
