#include "engine/cuda/ops/layers.h"

#include "engine/cuda/kernels/layers.h"

namespace sweetspot::engine::cuda {
namespace {

Plane plane_of(const Tensor& t) { return {t.height, t.width, t.channels, t.pitch}; }
std::int64_t floats_of(const Tensor& t, const Pass& pass) {
  return std::int64_t{pass.count} * t.floats();
}

class ElementFunction final : public Op {
 public:
  ElementFunction(std::string name, const cpu::ElementFunction& function, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), function_(function) {}
  std::string method() const override { return "activation"; }
  void forward(Pass& pass) const override {
    FunctionPass f = common(pass);
    f.known = pass.at(in_->value), f.to = pass.at(out_->value);
    check(launch_function(f, pass.stream), "an activation");
  }
  void backward(Pass& pass) const override {
    FunctionPass f = common(pass);
    f.known = pass.at(cpu::derives_from_input(function_.kind) ? in_->value : out_->value);
    f.gradient = pass.at(out_->gradient), f.to = pass.at(in_->gradient);
    check(launch_function_backward(f, pass.stream), "an activation's gradient");
  }

 private:
  FunctionPass common(const Pass& pass) const {
    FunctionPass f{};
    f.function = function_, f.count = floats_of(*in_, pass);
    f.channels = in_->channels, f.padded = in_->pitch;
    return f;
  }
  cpu::ElementFunction function_;
};

class Rescaling final : public Op {
 public:
  Rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        scale_(static_cast<float>(rescaling.scale)),
        offset_(static_cast<float>(rescaling.offset)) {}
  std::string method() const override { return "scale and shift"; }
  void forward(Pass& pass) const override { run(pass, in_->value, offset_, out_->value); }
  void backward(Pass& pass) const override { run(pass, out_->gradient, 0, in_->gradient); }

 private:
  void run(const Pass& pass, core::Bytes from, float shift, core::Bytes to) const {
    check(launch_scale_shift({scale_, shift, floats_of(*in_, pass), in_->channels, in_->pitch,
                              pass.at(from), pass.at(to)},
                             pass.stream),
          "scaling");
  }
  float scale_, offset_;
};

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

class Border final : public Op {
 public:
  Border(std::string name, const model::Border& border, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), border_(border) {}
  std::string method() const override { return "zeros around and between positions"; }
  void forward(Pass& pass) const override {
    check(launch_border(with(pass, in_->value, out_->value), pass.stream), "a border");
  }
  void backward(Pass& pass) const override {
    check(launch_border_backward(with(pass, out_->gradient, in_->gradient), pass.stream),
          "a border's gradient");
  }

 private:
  BorderPass with(const Pass& pass, core::Bytes from, core::Bytes to) const {
    return {pass.count,
            static_cast<int>(border_.top),
            static_cast<int>(border_.left),
            static_cast<int>(border_.spread.height),
            static_cast<int>(border_.spread.width),
            plane_of(*in_),
            plane_of(*out_),
            pass.at(from),
            pass.at(to)};
  }
  model::Border border_;
};

class Repeat final : public Op {
 public:
  Repeat(std::string name, const model::Repeat& repeat, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), repeat_(repeat) {}
  std::string method() const override {
    return repeat_.channels > 1 ? "channels repeated" : "positions repeated";
  }
  void forward(Pass& pass) const override {
    check(launch_repeat(with(pass, in_->value, out_->value), pass.stream), "repeating");
  }
  void backward(Pass& pass) const override {
    check(launch_repeat_backward(with(pass, out_->gradient, in_->gradient), pass.stream),
          "repeating's gradient");
  }

 private:
  RepeatPass with(const Pass& pass, core::Bytes from, core::Bytes to) const {
    return {pass.count,
            static_cast<int>(repeat_.height),
            static_cast<int>(repeat_.width),
            static_cast<int>(repeat_.channels),
            plane_of(*in_),
            plane_of(*out_),
            pass.at(from),
            pass.at(to)};
  }
  model::Repeat repeat_;
};

class Rearrange final : public Op {
 public:
  Rearrange(std::string name, const model::Rearrange& rearrange, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out) {
    const int in_strides[3] = {in->width * in->channels, in->channels, 1};
    const int out_strides[3] = {out->width * out->channels, out->channels, 1};
    for (int axis = 0; axis < 3; ++axis) {
      if (!rearrange.axes) {
        // The elements keep their order, so that each side is numbered by its own strides.
        there_[axis] = out_strides[axis], back_[axis] = in_strides[axis];
        continue;
      }
      const int source = (*rearrange.axes)[static_cast<std::size_t>(axis)];
      there_[axis] = in_strides[source], back_[source] = out_strides[axis];
    }
  }
  std::string method() const override { return "elements rearranged"; }
  void forward(Pass& pass) const override {
    run(pass, *in_, in_->value, there_, *out_, out_->value);
  }
  void backward(Pass& pass) const override {
    run(pass, *out_, out_->gradient, back_, *in_, in_->gradient);
  }

 private:
  void run(const Pass& pass, const Tensor& from, core::Bytes from_at, const int (&strides)[3],
           const Tensor& to, core::Bytes to_at) const {
    check(launch_rearrange({pass.count,
                            plane_of(from),
                            plane_of(to),
                            {strides[0], strides[1], strides[2]},
                            pass.at(from_at),
                            pass.at(to_at)},
                           pass.stream),
          "rearranging");
  }
  int there_[3], back_[3];
};

class LayerNorm final : public Op {
 public:
  LayerNorm(std::string name, float epsilon, bool whole_sample, const LayerNormWeights& weights,
            Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        epsilon_(epsilon),
        weights_(weights),
        groups_(whole_sample ? 1 : in->positions()) {}
  std::string method() const override { return "layer normalisation"; }
  void claim(Planner& planner) override {
    if (!planner.training()) return;
    const auto groups = static_cast<core::Bytes>(groups_);
    mean_ = planner.claim_samples(groups * sizeof(float));
    rate_ = planner.claim_samples(groups * sizeof(float));
    const int splits = layer_norm_splits(planner.micro_batch() * groups_, group_floats(),
                                         planner.chip().multiprocessors);
    for (const auto& [weights, partials] :
         {std::pair{&weights_.gamma, &gamma_}, {&weights_.beta, &beta_}})
      if (*weights) {
        partials->weights = **weights, partials->floats = weights_.floats;
        partials->splits = splits;
        partials->offset = planner.claim_partials(weights_.floats * splits);
      }
    splits_ = splits;
  }
  std::vector<PartialGradients> partials() const override {
    std::vector<PartialGradients> list;
    if (weights_.gamma) list.push_back(gamma_);
    if (weights_.beta) list.push_back(beta_);
    return list;
  }
  void forward(Pass& pass) const override {
    LayerNormPass n = common(pass);
    n.output = pass.at(out_->value);
    check(launch_layer_norm(n, pass.stream), "layer normalisation");
  }
  void backward(Pass& pass) const override {
    LayerNormPass n = common(pass);
    n.gradient = pass.at(out_->gradient), n.splits = splits_;
    if (wants_input_gradient) n.input_gradient = pass.at(in_->gradient);
    if (weights_.gamma) n.gamma_partials = pass.partials + gamma_.offset;
    if (weights_.beta) n.beta_partials = pass.partials + beta_.offset;
    check(launch_layer_norm_backward(n, pass.stream), "layer normalisation's gradients");
  }

 private:
  int group_floats() const { return in_->floats() / groups_; }
  LayerNormPass common(const Pass& pass) const {
    LayerNormPass n{};
    n.groups = std::int64_t{pass.count} * groups_, n.floats = group_floats();
    n.channels = in_->channels, n.pitch = in_->pitch, n.epsilon = epsilon_;
    n.input = pass.at(in_->value);
    n.gamma = weights_.gamma ? pass.weights + *weights_.gamma : nullptr;
    n.beta = weights_.beta ? pass.weights + *weights_.beta : nullptr;
    if (pass.training) n.mean = pass.at(mean_), n.rate = pass.at(rate_);
    return n;
  }
  float epsilon_;
  LayerNormWeights weights_;
  int groups_, splits_ = 1;
  core::Bytes mean_ = 0, rate_ = 0;
  PartialGradients gamma_, beta_;
};

class Prelu final : public Op {
 public:
  Prelu(std::string name, const model::PReLU& prelu, const model::Shape& full, std::int64_t weights,
        std::int64_t floats, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out) {
    // A vector that was an image still lies like one.
    const bool flat = full.vector, one = flat && prelu.shares_channels;
    const int channels = prelu.shares_channels ? 1 : in->channels;
    const int full_width = flat ? in->width : static_cast<int>(full.width);
    const int full_height = flat ? in->height : static_cast<int>(full.height);
    const int width = one || (!flat && prelu.shares_width) ? 1 : full_width;
    const int height = one || (!flat && prelu.shares_height) ? 1 : full_height;
    pass_.stride_c = channels == 1 ? 0 : 1;
    pass_.stride_x = width == 1 ? 0 : channels;
    pass_.stride_y = height == 1 ? 0 : width * channels;
    pass_.alphas = height * width * channels, pass_.alpha_w = width, pass_.alpha_c = channels;
    pass_.plane = plane_of(*in);
    partials_.weights = weights, partials_.floats = floats;
  }
  std::string method() const override { return "parametric ReLU"; }
  void claim(Planner& planner) override {
    if (!planner.training()) return;
    const std::int64_t shared =
        std::int64_t{in_->positions()} * in_->channels / pass_.alphas * planner.micro_batch();
    partials_.splits = prelu_splits(shared, pass_.alphas);
    partials_.offset = planner.claim_partials(partials_.floats * partials_.splits);
  }
  std::vector<PartialGradients> partials() const override { return {partials_}; }
  void forward(Pass& pass) const override {
    PreluPass p = common(pass);
    p.output = pass.at(out_->value);
    check(launch_prelu(p, pass.stream), "a parametric ReLU");
  }
  void backward(Pass& pass) const override {
    PreluPass p = common(pass);
    p.gradient = pass.at(out_->gradient);
    if (wants_input_gradient) p.input_gradient = pass.at(in_->gradient);
    p.partials = pass.partials + partials_.offset, p.partial_stride = partials_.floats;
    p.splits = partials_.splits;
    check(launch_prelu_backward(p, pass.stream), "a parametric ReLU's gradients");
  }

 private:
  PreluPass common(const Pass& pass) const {
    PreluPass p = pass_;
    p.count = pass.count;
    p.input = pass.at(in_->value), p.alpha = pass.weights + partials_.weights;
    return p;
  }
  PreluPass pass_{};
  PartialGradients partials_;
};

class Depthwise final : public Op {
 public:
  Depthwise(std::string name, const cpu::DepthwisePlane& p, bool relu,
            const ProductWeights& weights, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), weights_(weights) {
    const auto narrow = [](std::int64_t n) { return static_cast<int>(n); };
    pass_.in = plane_of(*in), pass_.out = plane_of(*out);
    pass_.kernel_h = narrow(p.kernel_height), pass_.kernel_w = narrow(p.kernel_width);
    pass_.stride_h = narrow(p.stride_height), pass_.stride_w = narrow(p.stride_width);
    pass_.pad_top = narrow(p.pad_top), pass_.pad_left = narrow(p.pad_left);
    const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
    pass_.by_in_width = by(in->width), pass_.by_in_height = by(in->height);
    pass_.by_out_width = by(out->width), pass_.by_out_height = by(out->height);
    pass_.relu = relu;
  }
  std::string method() const override {
    return pass_.relu ? "depthwise convolution, ReLU" : "depthwise convolution";
  }
  void claim(Planner& planner) override {
    if (!planner.training()) return;
    partials_.weights = weights_.kernel;
    partials_.floats = std::int64_t{pass_.taps() + (weights_.bias ? 1 : 0)} * in_->pitch;
    partials_.splits =
        depthwise_splits(pass_, planner.micro_batch(), planner.chip().multiprocessors);
    partials_.offset = planner.claim_partials(partials_.floats * partials_.splits);
  }
  std::vector<PartialGradients> partials() const override { return {partials_}; }
  void forward(Pass& pass) const override {
    check(launch_depthwise(common(pass), pass.stream), "a depthwise convolution");
  }
  void backward(Pass& pass) const override {
    DepthwisePass d = common(pass);
    d.gradient = pass.at(out_->gradient);
    if (wants_input_gradient) d.input_gradient = pass.at(in_->gradient);
    d.partials = pass.partials + partials_.offset, d.partial_stride = partials_.floats;
    d.splits = partials_.splits;
    check(launch_depthwise_backward(d, pass.stream), "a depthwise convolution's gradients");
  }

 private:
  DepthwisePass common(const Pass& pass) const {
    DepthwisePass d = pass_;
    d.count = pass.count;
    d.input = pass.at(in_->value), d.output = pass.at(out_->value);
    d.weights = pass.weights + weights_.kernel;
    d.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    return d;
  }
  ProductWeights weights_;
  DepthwisePass pass_{};
  PartialGradients partials_;
};

}  // namespace

std::unique_ptr<Op> make_function(std::string name, const cpu::ElementFunction& function,
                                  Tensor* in, Tensor* out) {
  return std::make_unique<ElementFunction>(std::move(name), function, in, out);
}
std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out) {
  return std::make_unique<Rescaling>(std::move(name), rescaling, in, out);
}
std::unique_ptr<Op> make_gaussian_noise(std::string name, double stddev, const FusedDropout& draws,
                                        Tensor* in, Tensor* out) {
  return std::make_unique<GaussianNoise>(std::move(name), stddev, draws, in, out);
}
std::unique_ptr<Op> make_channel_dropout(std::string name, double rate, std::uint32_t layer,
                                         Tensor* in, Tensor* out) {
  return std::make_unique<ChannelDropout>(std::move(name),
                                          FusedDropout{rate, layer, in->channels, 1}, in, out);
}
std::unique_ptr<Op> make_border(std::string name, const model::Border& border, Tensor* in,
                                Tensor* out) {
  return std::make_unique<Border>(std::move(name), border, in, out);
}
std::unique_ptr<Op> make_repeat(std::string name, const model::Repeat& repeat, Tensor* in,
                                Tensor* out) {
  return std::make_unique<Repeat>(std::move(name), repeat, in, out);
}
std::unique_ptr<Op> make_rearrange(std::string name, const model::Rearrange& rearrange, Tensor* in,
                                   Tensor* out) {
  return std::make_unique<Rearrange>(std::move(name), rearrange, in, out);
}
std::unique_ptr<Op> make_layer_norm(std::string name, float epsilon, bool whole_sample,
                                    const LayerNormWeights& weights, Tensor* in, Tensor* out) {
  return std::make_unique<LayerNorm>(std::move(name), epsilon, whole_sample, weights, in, out);
}
std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::int64_t weights, std::int64_t floats,
                               Tensor* in, Tensor* out) {
  return std::make_unique<Prelu>(std::move(name), prelu, full, weights, floats, in, out);
}
std::unique_ptr<Op> make_depthwise(std::string name, const cpu::DepthwisePlane& plane, bool relu,
                                   const ProductWeights& weights, Tensor* in, Tensor* out) {
  return std::make_unique<Depthwise>(std::move(name), plane, relu, weights, in, out);
}

}  // namespace sweetspot::engine::cuda
