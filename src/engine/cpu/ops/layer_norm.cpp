#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/ops.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

class LayerNorm final : public Op {
 public:
  LayerNorm(std::string name, const LayerNormGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), g_(geometry) {
    const Extent& e = in->extent;
    groups_ = g_.whole_sample ? 1 : e.positions();
    group_.blocks = g_.whole_sample ? e.units() * e.positions() : e.units();
    group_.stride = g_.whole_sample ? unit : e.plane();
    group_.used = e.channels - (e.units() - 1) * unit;
    group_.first_partial = group_.used == unit ? group_.blocks
                           : g_.whole_sample   ? (e.units() - 1) * e.positions()
                                               : e.units() - 1;
    group_.epsilon = g_.epsilon;
    slot_floats = 2 * group_.blocks * unit;
    kept.bytes = aligned(static_cast<core::Bytes>(2 * groups_) * sizeof(float));  // mean and 1/σ
  }

  std::string method() const override { return "layer normalisation"; }
  bool keeps_input() const override { return true; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(out_->value, sample, thread);
    float* moments = pass.at(kept, sample, thread);
    for (std::int64_t i = 0; i < groups_; ++i)
      pass.kernels->layers.normalise_group(group_, x + i * unit, weights(pass, g_.gamma),
                                           weights(pass, g_.beta), y + i * unit, moments + 2 * i,
                                           moments + 2 * i + 1);
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) override {
    const float* x = pass.at(in_->value, sample, thread);
    const float* g = pass.at(out_->gradient, sample, thread);
    float* to = wants_input_gradient ? pass.at(in_->gradient, sample, thread) : nullptr;
    const float* moments = pass.at(kept, sample, thread);
    float* sums = slot(pass, index);
    for (std::int64_t i = 0; i < groups_; ++i)
      pass.kernels->layers.normalise_group_back(
          group_, x + i * unit, weights(pass, g_.gamma), moments[2 * i], moments[2 * i + 1],
          g + i * unit, to ? to + i * unit : nullptr, g_.gamma ? sums : nullptr,
          g_.beta ? sums + group_.blocks * unit : nullptr);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    const std::int64_t floats = group_.blocks * unit;
    if (g_.gamma)
      gather_slots(pass, slot(pass, 0), 0, floats, pass.gradients + *g_.gamma, part, parts);
    if (g_.beta)
      gather_slots(pass, slot(pass, 0), floats, floats, pass.gradients + *g_.beta, part, parts);
  }

 private:
  static const float* weights(const Pass& pass, const std::optional<std::size_t>& offset) {
    return offset ? pass.weights + *offset : nullptr;
  }

  LayerNormGeometry g_;
  NormGroup group_{};
  std::int64_t groups_ = 1;
};

}  // namespace

std::unique_ptr<Op> make_layer_norm(std::string name, const LayerNormGeometry& geometry, Tensor* in,
                                    Tensor* out) {
  return std::make_unique<LayerNorm>(std::move(name), geometry, in, out);
}

}  // namespace sweetspot::engine::cpu
