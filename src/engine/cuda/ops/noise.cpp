#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/plane.h"

namespace sweetspot::engine::cuda {
namespace {

class GaussianNoise final : public Op {
 public:
  GaussianNoise(std::string name, double stddev, const FusedDropout& draws, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), stddev_(static_cast<float>(stddev)), draws_(draws) {}
  std::string method() const override { return "normal noise"; }
  void forward(Pass& pass) const override {
    check(launch_noise({dropout_mask(draws_, in_->channels, pass), stddev_, pass.count,
                        plane_of(*in_), pass.at(in_->value), pass.at(out_->value)},
                       pass.stream),
          "noise");
  }
  void backward(Pass& pass) const override {
    check(launch_scale_shift({1, 0, floats_of(*in_, pass), in_->channels, in_->pitch,
                              pass.at(out_->gradient), pass.at(in_->gradient)},
                             pass.stream),
          "noise's gradient");
  }

 private:
  float stddev_;
  FusedDropout draws_;
};

class ChannelDropout final : public Op {
 public:
  ChannelDropout(std::string name, const FusedDropout& draws, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), draws_(draws) {}
  std::string method() const override { return "dropout of channels"; }
  void forward(Pass& pass) const override { run(pass, in_->value, out_->value); }
  void backward(Pass& pass) const override { run(pass, out_->gradient, in_->gradient); }

 private:
  void run(const Pass& pass, core::Bytes from, core::Bytes to) const {
    check(launch_channel_dropout({dropout_mask(draws_, in_->channels, pass), 0, pass.count,
                                  plane_of(*in_), pass.at(from), pass.at(to)},
                                 pass.stream),
          "dropout of channels");
  }
  FusedDropout draws_;
};

}  // namespace

std::unique_ptr<Op> make_gaussian_noise(std::string name, double stddev, const FusedDropout& draws,
                                        Tensor* in, Tensor* out) {
  return std::make_unique<GaussianNoise>(std::move(name), stddev, draws, in, out);
}
std::unique_ptr<Op> make_channel_dropout(std::string name, double rate, std::uint32_t layer,
                                         Tensor* in, Tensor* out) {
  return std::make_unique<ChannelDropout>(std::move(name),
                                          FusedDropout{rate, layer, in->channels, 1}, in, out);
}

}  // namespace sweetspot::engine::cuda
