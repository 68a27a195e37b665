#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/plane.h"

namespace sweetspot::engine::cuda {
namespace {

// Forward and backward are one kernel each over the same description.
template <class Described>
class Shaping final : public Op {
 public:
  using Launch = cudaError_t (*)(const Described&, cudaStream_t);
  Shaping(std::string name, std::string method, const Described& pass, Launch there, Launch back,
          Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        method_(std::move(method)),
        pass_(pass),
        there_(there),
        back_(back) {
    pass_.in = plane_of(*in), pass_.out = plane_of(*out);
  }
  std::string method() const override { return method_; }
  void forward(Pass& pass) const override {
    check(there_(with(pass, in_->value, out_->value), pass.stream), method_.c_str());
  }
  void backward(Pass& pass) const override {
    check(back_(with(pass, out_->gradient, in_->gradient), pass.stream), method_.c_str());
  }

 private:
  Described with(const Pass& pass, core::Bytes from, core::Bytes to) const {
    Described p = pass_;
    p.count = pass.count, p.from = pass.at(from), p.to = pass.at(to);
    return p;
  }
  std::string method_;
  Described pass_;
  Launch there_, back_;
};

class Rearrange final : public Op {
 public:
  Rearrange(std::string name, const model::Rearrange& rearrange, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out) {
    const int in_strides[3] = {in->width * in->channels, in->channels, 1};
    const int out_strides[3] = {out->width * out->channels, out->channels, 1};
    for (int axis = 0; axis < 3; ++axis) {
      if (!rearrange.axes) {
        // The elements keep their order, so each side is indexed by its own strides.
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

}  // namespace

std::unique_ptr<Op> make_border(std::string name, const model::Border& border, Tensor* in,
                                Tensor* out) {
  BorderPass p{};
  p.top = static_cast<int>(border.top), p.left = static_cast<int>(border.left);
  p.spread_h = static_cast<int>(border.spread.height);
  p.spread_w = static_cast<int>(border.spread.width);
  return std::make_unique<Shaping<BorderPass>>(std::move(name),
                                               "zeros around and between positions", p,
                                               launch_border, launch_border_backward, in, out);
}
std::unique_ptr<Op> make_repeat(std::string name, const model::Repeat& repeat, Tensor* in,
                                Tensor* out) {
  RepeatPass p{};
  p.height = static_cast<int>(repeat.height), p.width = static_cast<int>(repeat.width);
  p.channels = static_cast<int>(repeat.channels);
  return std::make_unique<Shaping<RepeatPass>>(
      std::move(name), repeat.channels > 1 ? "channels repeated" : "positions repeated", p,
      launch_repeat, launch_repeat_backward, in, out);
}
std::unique_ptr<Op> make_rearrange(std::string name, const model::Rearrange& rearrange, Tensor* in,
                                   Tensor* out) {
  return std::make_unique<Rearrange>(std::move(name), rearrange, in, out);
}

}  // namespace sweetspot::engine::cuda
