#include <algorithm>

#include "engine/cpu/ops/ops.h"

namespace sweetspot::engine::cpu {
namespace {

class Border final : public Op {
 public:
  Border(std::string name, const model::Border& border, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), b_(border) {}
  std::string method() const override { return "zeros around and between positions"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const float* from = pass.at(in_->value, sample, thread);
    float* to = pass.at(out_->value, sample, thread);
    std::fill_n(to, out_->extent.floats(), 0.f);
    each_run([&](std::int64_t inner, std::int64_t outer, std::int64_t positions) {
      for (std::int64_t i = 0; i < positions; ++i)
        std::copy_n(from + inner + i * run() * unit, run() * unit,
                    to + outer + i * b_.spread.width * unit);
    });
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const float* from = pass.at(out_->gradient, sample, thread);
    float* to = pass.at(in_->gradient, sample, thread);
    std::fill_n(to, in_->extent.floats(), 0.f);  // the cropped part
    each_run([&](std::int64_t inner, std::int64_t outer, std::int64_t positions) {
      for (std::int64_t i = 0; i < positions; ++i)
        std::copy_n(from + outer + i * b_.spread.width * unit, run() * unit,
                    to + inner + i * run() * unit);
    });
  }

 private:
  // Positions that stay contiguous: a whole row, or one.
  std::int64_t run() const { return b_.spread.width == 1 ? columns_ : 1; }

  // Calls visit(offset in the input, offset in the output, runs) for each row that is in both.
  template <class Visit>
  void each_run(Visit visit) const {
    const Extent &in = in_->extent, &out = out_->extent;
    for (std::int64_t u = 0; u < in.units(); ++u)
      for (std::int64_t y = first_line_; y < last_line_; ++y)
        if (columns_ > 0)
          visit(u * in.plane() + (y * in.width + first_column_) * unit,
                u * out.plane() + ((y * b_.spread.height + b_.top) * out.width +
                                   first_column_ * b_.spread.width + b_.left) *
                                      unit,
                columns_ / run());
  }

  // Positions i of `in` whose target i · spread + before is in [0, out).
  static Range both(std::int64_t in, std::int64_t out, std::int64_t spread, std::int64_t before) {
    const std::int64_t begin = before >= 0 ? 0 : (-before + spread - 1) / spread;
    const std::int64_t end = out > before ? (out - before + spread - 1) / spread : 0;
    return {std::min(begin, in), std::max(std::min(begin, in), std::min(end, in))};
  }

  model::Border b_;
  std::int64_t first_line_ =
      both(in_->extent.height, out_->extent.height, b_.spread.height, b_.top).begin;
  std::int64_t last_line_ =
      both(in_->extent.height, out_->extent.height, b_.spread.height, b_.top).end;
  std::int64_t first_column_ =
      both(in_->extent.width, out_->extent.width, b_.spread.width, b_.left).begin;
  std::int64_t columns_ =
      both(in_->extent.width, out_->extent.width, b_.spread.width, b_.left).end - first_column_;
};

class Repeat final : public Op {
 public:
  Repeat(std::string name, const model::Repeat& repeat, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), r_(repeat) {}
  std::string method() const override {
    return r_.channels > 1 ? "channels repeated" : "positions repeated";
  }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const Extent &in = in_->extent, &out = out_->extent;
    const float* from = pass.at(in_->value, sample, thread);
    float* to = pass.at(out_->value, sample, thread);
    if (r_.channels > 1) {
      for (std::int64_t u = 0; u < out.units(); ++u)
        pass.kernels->layers.repeat_lanes(from + u / r_.channels * in.plane(), in.positions(),
                                          r_.channels, u % r_.channels, to + u * out.plane());
      return;
    }
    each_position(
        [&](std::int64_t one, std::int64_t copy) { std::copy_n(from + one, unit, to + copy); });
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const Extent &in = in_->extent, &out = out_->extent;
    const float* from = pass.at(out_->gradient, sample, thread);
    float* to = pass.at(in_->gradient, sample, thread);
    std::fill_n(to, in.floats(), 0.f);
    if (r_.channels > 1) {
      for (std::int64_t u = 0; u < out.units(); ++u)
        pass.kernels->layers.add_repeated(from + u * out.plane(), in.positions(), r_.channels,
                                          u % r_.channels, to + u / r_.channels * in.plane());
      return;
    }
    each_position([&](std::int64_t one, std::int64_t copy) {
      pass.kernels->add(from + copy, unit, to + one);
    });
  }

 private:
  // Calls visit with the offsets of each input position and of its repetitions, in their order.
  template <class Visit>
  void each_position(Visit visit) const {
    const Extent &in = in_->extent, &out = out_->extent;
    std::int64_t at = 0;
    for (std::int64_t u = 0; u < out.units(); ++u)
      for (std::int64_t y = 0; y < out.height; ++y)
        for (std::int64_t x = 0; x < out.width; ++x, at += unit)
          visit(u * in.plane() + (y / r_.height * in.width + x / r_.width) * unit, at);
  }

  model::Repeat r_;
};

// to[i] = from[places[i]], or zero where that is negative. Neighbours mostly stay neighbours, up to
// 16 of them: such a piece is copied as a whole unit, whose rest the next pieces overwrite.
class Picker {
 public:
  Picker(std::vector<std::int32_t> places, std::int64_t source) : places_(std::move(places)) {
    const auto total = static_cast<std::int64_t>(places_.size());
    for (std::int64_t i = 0, length; i < total; i += length) {
      const std::int32_t first = place(i);
      length = 1;
      while (length < unit && i + length < total &&
             place(i + length) == (first < 0 ? first : first + static_cast<std::int32_t>(length)))
        ++length;
      const bool whole = i + unit <= total && first + unit <= source;
      pieces_.push_back(
          {static_cast<std::int32_t>(i), first, static_cast<std::int32_t>(whole ? unit : length)});
    }
    constexpr std::size_t usual_length = 4;
    if (usual_length * pieces_.size() > places_.size()) pieces_.clear();
  }

  void pick(const float* from, float* to) const {
    if (pieces_.empty()) return pick_each(from, to);
    for (const Piece& piece : pieces_)
      if (piece.from < 0)
        std::fill_n(to + piece.to, piece.length, 0.f);
      else if (piece.length == unit)
        std::copy_n(from + piece.from, unit, to + piece.to);
      else
        std::copy_n(from + piece.from, piece.length, to + piece.to);
  }

 private:
  struct Piece {
    std::int32_t to, from, length;
  };
  std::int32_t place(std::int64_t i) const { return places_[static_cast<std::size_t>(i)]; }

  void pick_each(const float* from, float* to) const {
    const std::int32_t* place = places_.data();
    const std::size_t count = places_.size();
    for (std::size_t i = 0; i < count; ++i) to[i] = place[i] < 0 ? 0.f : from[place[i]];
  }

  std::vector<std::int32_t> places_;
  std::vector<Piece> pieces_;  // none if they are short
};

std::vector<std::int32_t> inverse(const std::vector<std::int32_t>& places, std::int64_t count) {
  std::vector<std::int32_t> of(static_cast<std::size_t>(count), -1);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] >= 0) of[static_cast<std::size_t>(places[i])] = static_cast<std::int32_t>(i);
  return of;
}

class Rearrange final : public Op {
 public:
  Rearrange(std::string name, const std::vector<std::int32_t>& from, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        forward_(from, in->extent.floats()),
        backward_(inverse(from, in->extent.floats()), out->extent.floats()) {}
  std::string method() const override { return "elements rearranged"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    forward_.pick(pass.at(in_->value, sample, thread), pass.at(out_->value, sample, thread));
  }
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    backward_.pick(pass.at(out_->gradient, sample, thread), pass.at(in_->gradient, sample, thread));
  }

 private:
  Picker forward_, backward_;
};

}  // namespace

std::unique_ptr<Op> make_border(std::string name, const model::Border& border, Tensor* in,
                                Tensor* out) {
  return std::make_unique<Border>(std::move(name), border, in, out);
}

std::unique_ptr<Op> make_repeat(std::string name, const model::Repeat& repeat, Tensor* in,
                                Tensor* out) {
  return std::make_unique<Repeat>(std::move(name), repeat, in, out);
}

std::vector<std::int32_t> rearranged_from(const model::Rearrange& rearrange, const Extent& in,
                                          const Extent& out) {
  const std::vector<std::int32_t> sources = keras_positions(in), places = keras_positions(out);
  std::vector<std::int32_t> from(static_cast<std::size_t>(out.floats()), -1);
  if (!rearrange.axes) {
    for (std::size_t i = 0; i < places.size(); ++i)
      from[static_cast<std::size_t>(places[i])] = sources[i];
    return from;
  }
  const std::int64_t strides[3] = {in.width * in.channels, in.channels, 1};
  const std::array<int, 3>& axes = *rearrange.axes;
  std::size_t i = 0;
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x)
      for (std::int64_t c = 0; c < out.channels; ++c, ++i)
        from[static_cast<std::size_t>(places[i])] = sources[static_cast<std::size_t>(
            y * strides[axes[0]] + x * strides[axes[1]] + c * strides[axes[2]])];
  return from;
}

std::unique_ptr<Op> make_rearrange(std::string name, const std::vector<std::int32_t>& from,
                                   Tensor* in, Tensor* out) {
  return std::make_unique<Rearrange>(std::move(name), from, in, out);
}

}  // namespace sweetspot::engine::cpu
