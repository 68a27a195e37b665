#include <algorithm>

#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/ops.h"

namespace sweetspot::engine::cpu {
namespace {

// A per-channel alpha is used in place; any other is expanded over the sample before the pass, and
// its gradient is summed after it.
class Prelu final : public Op {
 public:
  Prelu(std::string name, const model::PReLU& prelu, const model::Shape& full, std::size_t weights,
        Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), weights_(weights) {
    const Extent& e = in->extent;
    // A flattened image still has the image's layout.
    const bool flat = full.vector;
    const model::Shape shape = flat ? model::Shape{e.height, e.width, e.channels} : full;
    const bool one = flat && prelu.shares_channels;
    const std::int64_t channels = prelu.shares_channels ? 1 : shape.channels;
    const std::int64_t width = one || (!flat && prelu.shares_width) ? 1 : shape.width;
    const std::int64_t height = one || (!flat && prelu.shares_height) ? 1 : shape.height;
    alphas_ = height * width * channels;
    by_channel_ = height * width == 1 && channels == shape.channels;
    slot_floats = by_channel_ ? e.units() * unit : e.floats();
    if (by_channel_) return;
    shared_floats = e.floats();
    for (std::int64_t y = 0; y < e.height; ++y)
      for (std::int64_t x = 0; x < e.width; ++x)
        for (std::int64_t c = 0; c < e.channels; ++c) {
          alpha_of_.push_back(static_cast<std::int32_t>(
              ((height == 1 ? 0 : y) * width + (width == 1 ? 0 : x)) * channels +
              (channels == 1 ? 0 : c)));
          place_.push_back(static_cast<std::int32_t>(c / unit * e.plane() +
                                                     (y * e.width + x) * unit + c % unit));
        }
  }

  std::string method() const override { return "parametric ReLU"; }
  bool keeps_input() const override { return true; }

  void prepare_part(const Pass& pass, int part, int) override {
    if (by_channel_ || part > 0) return;
    float* spread = pass.shared + shared_offset;
    std::fill_n(spread, in_->extent.floats(), 0.f);
    for (std::size_t i = 0; i < place_.size(); ++i)
      spread[place_[i]] = pass.weights[weights_ + static_cast<std::size_t>(alpha_of_[i])];
  }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    each_stretch(pass, [&](std::int64_t at, std::int64_t count, const float* alpha, std::int64_t) {
      pass.kernels->layers.prelu(pass.at(in_->value, sample, thread) + at, alpha, !by_channel_,
                                 count, pass.at(out_->value, sample, thread) + at);
    });
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) override {
    float* to = wants_input_gradient ? pass.at(in_->gradient, sample, thread) : nullptr;
    each_stretch(pass, [&](std::int64_t at, std::int64_t count, const float* alpha,
                           std::int64_t sum) {
      pass.kernels->layers.prelu_back(pass.at(in_->value, sample, thread) + at, alpha, !by_channel_,
                                      pass.at(out_->gradient, sample, thread) + at, count,
                                      to ? to + at : nullptr, slot(pass, index) + sum);
    });
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    if (by_channel_)
      return gather_slots(pass, slot(pass, 0), 0, slot_floats, pass.gradients + weights_, part,
                          parts);
    if (part > 0) return;
    float* gradients = pass.gradients + weights_;
    // Alphas of dead positions have no gradient.
    std::fill_n(gradients, alphas_, 0.f);
    for (std::int64_t s = 1; s < pass.unsummed_slots(); ++s)
      pass.kernels->add(slot(pass, s), slot_floats, slot(pass, 0));
    for (std::size_t i = 0; i < place_.size(); ++i)
      gradients[alpha_of_[i]] += slot(pass, 0)[place_[i]];
  }

 private:
  // Calls visit(offset, floats, alpha, offset of its gradient) for each unit, or for all at once.
  template <class Visit>
  void each_stretch(const Pass& pass, Visit visit) const {
    const Extent& e = in_->extent;
    if (!by_channel_) return visit(0, e.floats(), pass.shared + shared_offset, 0);
    for (std::int64_t u = 0; u < e.units(); ++u)
      visit(u * e.plane(), e.plane(), pass.weights + weights_ + u * unit, u * unit);
  }

  std::size_t weights_;
  bool by_channel_ = false;
  std::vector<std::int32_t> alpha_of_, place_;  // of each element that is read
  std::int64_t alphas_ = 1;                     // of the variable
};

}  // namespace

std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::size_t weights, Tensor* in,
                               Tensor* out) {
  return std::make_unique<Prelu>(std::move(name), prelu, full, weights, in, out);
}

}  // namespace sweetspot::engine::cpu
