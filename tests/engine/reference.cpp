#include "reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sweetspot::engine::testing {
namespace {

using Samples = std::vector<std::vector<double>>;  // (sample, height · width · channels)

double activated(const model::Activation& function, double x) {
  using model::Activation;
  const double slope = function.slope;
  switch (function.kind) {
    case Activation::rectified:
      return x < function.threshold ? slope * (x - function.threshold)
                                    : std::min<double>(x, function.most);
    case Activation::elu:
      return x > 0 ? x : slope * std::expm1(x);
    case Activation::selu:
      return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Activation::swish:
      return x / (1 + std::exp(-x));
    case Activation::softplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case Activation::softsign:
      return x / (1 + std::abs(x));
    case Activation::exponential:
      return std::exp(x);
    case Activation::hard_sigmoid:
      return std::clamp(slope * x + 0.5, 0.0, 1.0);
    case model::Activation::relu:
      return std::max(x, 0.0);
    case model::Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case model::Activation::tanh:
      return std::tanh(x);
    default:
      return x;  // softmax is part of the loss
  }
}

std::size_t index(const model::Shape& shape, std::int64_t y, std::int64_t x, std::int64_t c) {
  return static_cast<std::size_t>((y * shape.width + x) * shape.channels + c);
}

struct LayerPass {
  const model::Layer& layer;
  const Reference::Weights& weights;
  bool training;
  Samples& samples;

  const std::vector<double>* variable(const char* name) const {
    const auto found = weights.find(layer.name + "/" + name);
    return found == weights.end() ? nullptr : &found->second;
  }

  template <class Compute>
  void each(Compute compute) const {
    for (std::vector<double>& sample : samples) {
      std::vector<double> out(static_cast<std::size_t>(layer.output.size()));
      compute(sample, out);
      sample = std::move(out);
    }
  }

  // Calls visit(y, x, ky, kx) for every tap of the window at output (oy, ox) that is inside the
  // image.
  template <class Visit>
  void window(const model::Window& size, const model::Window& strides, model::Padding padding,
              std::int64_t oy, std::int64_t ox, Visit visit) const {
    const model::Shape& in = layer.input;
    const auto top = model::padding_along(padding, in.height, size.height, strides.height).before;
    const auto left = model::padding_along(padding, in.width, size.width, strides.width).before;
    for (std::int64_t ky = 0; ky < size.height; ++ky)
      for (std::int64_t kx = 0; kx < size.width; ++kx) {
        const std::int64_t y = oy * strides.height + ky - top, x = ox * strides.width + kx - left;
        if (y >= 0 && y < in.height && x >= 0 && x < in.width) visit(y, x, ky, kx);
      }
  }

  template <class Compute>
  void each_output(std::vector<double>& out, Compute compute) const {
    for (std::int64_t y = 0; y < layer.output.height; ++y)
      for (std::int64_t x = 0; x < layer.output.width; ++x)
        for (std::int64_t c = 0; c < layer.output.channels; ++c)
          out[index(layer.output, y, x, c)] = compute(y, x, c);
  }

  void operator()(const model::Conv2D& conv) const {
    const bool turned = conv.layout == model::Conv2D::Kernel::turned;
    const std::vector<double>& kernel =
        *variable(conv.layout == model::Conv2D::Kernel::pointwise ? "pointwise_kernel" : "kernel");
    const std::vector<double>* bias = variable("bias");
    const std::int64_t channels = layer.input.channels;
    const auto weight = [&](std::int64_t tap, std::int64_t c, std::int64_t f) {
      const std::int64_t last = conv.kernel.height * conv.kernel.width - 1;
      return kernel[static_cast<std::size_t>(turned
                                                 ? ((last - tap) * conv.filters + f) * channels + c
                                                 : (tap * channels + c) * conv.filters + f)];
    };
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      each_output(out, [&](std::int64_t oy, std::int64_t ox, std::int64_t f) {
        double sum = bias ? (*bias)[static_cast<std::size_t>(f)] : 0;
        window(
            conv.kernel, conv.strides, conv.padding, oy, ox, [&](auto y, auto x, auto ky, auto kx) {
              for (std::int64_t c = 0; c < channels; ++c)
                sum += in[index(layer.input, y, x, c)] * weight(ky * conv.kernel.width + kx, c, f);
            });
        return activated(conv.activation, sum);
      });
    });
  }

  void operator()(const model::DepthwiseConv2D& conv) const {
    const std::vector<double>& kernel = *variable(
        conv.layout == model::DepthwiseConv2D::Kernel::grouped ? "kernel" : "depthwise_kernel");
    const std::vector<double>* bias = conv.use_bias ? variable("bias") : nullptr;
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      each_output(out, [&](std::int64_t oy, std::int64_t ox, std::int64_t c) {
        double sum = bias ? (*bias)[static_cast<std::size_t>(c)] : 0;
        window(conv.kernel, conv.strides, conv.padding, oy, ox,
               [&](auto y, auto x, auto ky, auto kx) {
                 sum += in[index(layer.input, y, x, c)] *
                        kernel[static_cast<std::size_t>(
                            (ky * conv.kernel.width + kx) * layer.input.channels + c)];
               });
        return activated(conv.activation, sum);
      });
    });
  }

  void operator()(const model::Border& border) const {
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      each_output(out, [&](std::int64_t oy, std::int64_t ox, std::int64_t c) {
        const std::int64_t y = oy - border.top, x = ox - border.left;
        const bool inside = y >= 0 && x >= 0 && y % border.spread.height == 0 &&
                            x % border.spread.width == 0 &&
                            y / border.spread.height < layer.input.height &&
                            x / border.spread.width < layer.input.width;
        return inside ? in[index(layer.input, y / border.spread.height, x / border.spread.width, c)]
                      : 0.0;
      });
    });
  }

  void operator()(const model::Repeat& repeat) const {
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      each_output(out, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        return in[index(layer.input, y / repeat.height, x / repeat.width, c / repeat.channels)];
      });
    });
  }

  void operator()(const model::Rearrange& rearrange) const {
    if (!rearrange.axes) return;
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      each_output(out, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        std::int64_t at[3];
        const std::int64_t to[3] = {y, x, c};
        for (int axis = 0; axis < 3; ++axis)
          at[(*rearrange.axes)[static_cast<std::size_t>(axis)]] = to[axis];
        return in[index(layer.input, at[0], at[1], at[2])];
      });
    });
  }

  void operator()(const model::Rescaling& rescaling) const {
    for (auto& sample : samples)
      for (double& x : sample) x = x * rescaling.scale + rescaling.offset;
  }

  void operator()(const model::PReLU& prelu) const {
    const std::vector<double>& alpha = *variable("alpha");
    const model::Shape& in = layer.input;
    const std::int64_t channels = prelu.shares_channels ? 1 : in.channels;
    const std::int64_t width = prelu.shares_width ? 1 : in.width;
    each([&](const std::vector<double>& from, std::vector<double>& out) {
      each_output(out, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        const double value = from[index(in, y, x, c)];
        const std::int64_t at =
            ((prelu.shares_height ? 0 : y) * width + x % width) * channels + c % channels;
        return value > 0 ? value : alpha[static_cast<std::size_t>(at)] * value;
      });
    });
  }

  void operator()(const model::LayerNormalization& norm) const {
    const auto channels = static_cast<std::size_t>(layer.input.channels);
    const std::vector<double>*gamma = variable("gamma"), *beta = variable("beta");
    for (auto& sample : samples)
      for (std::size_t first = 0; first < sample.size(); first += channels) {
        double mean = 0, variance = 0;
        for (std::size_t c = 0; c < channels; ++c)
          mean += sample[first + c] / static_cast<double>(channels);
        for (std::size_t c = 0; c < channels; ++c)
          variance += std::pow(sample[first + c] - mean, 2) / static_cast<double>(channels);
        for (std::size_t c = 0; c < channels; ++c)
          sample[first + c] = (sample[first + c] - mean) / std::sqrt(variance + norm.epsilon) *
                                  (gamma ? (*gamma)[c] : 1) +
                              (beta ? (*beta)[c] : 0);
      }
  }

  void operator()(const model::GlobalMaxPooling2D&) const {
    const auto channels = static_cast<std::size_t>(layer.input.channels);
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      std::ranges::fill(out, -std::numeric_limits<double>::infinity());
      for (std::size_t i = 0; i < in.size(); ++i)
        out[i % channels] = std::max(out[i % channels], in[i]);
    });
  }

  void operator()(const model::Pooling2D& pool) const {
    const bool is_max = pool.kind == model::Pooling2D::Kind::max;
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      each_output(out, [&](std::int64_t oy, std::int64_t ox, std::int64_t c) {
        double sum = 0, most = -std::numeric_limits<double>::infinity(), count = 0;
        window(pool.size, pool.strides, pool.padding, oy, ox, [&](auto y, auto x, auto, auto) {
          const double value = in[index(layer.input, y, x, c)];
          sum += value, most = std::max(most, value), ++count;
        });
        return is_max ? most : sum / count;
      });
    });
  }

  void operator()(const model::GlobalAveragePooling2D&) const {
    const auto channels = static_cast<std::size_t>(layer.input.channels);
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      for (std::size_t i = 0; i < in.size(); ++i)
        out[i % channels] += in[i] * static_cast<double>(channels) / static_cast<double>(in.size());
    });
  }

  void operator()(const model::Dense& dense) const {
    const std::vector<double>& kernel = *variable("kernel");
    const std::vector<double>* bias = variable("bias");
    each([&](const std::vector<double>& in, std::vector<double>& out) {
      for (std::size_t n = 0; n < out.size(); ++n) {
        double sum = bias ? (*bias)[n] : 0;
        for (std::size_t k = 0; k < in.size(); ++k) sum += in[k] * kernel[k * out.size() + n];
        out[n] = activated(dense.activation, sum);
      }
    });
  }

  void operator()(const model::BatchNormalization& norm) const {
    const auto channels = static_cast<std::size_t>(layer.input.channels);
    std::vector<double> mean(channels), variance(channels);
    if (training) {
      const double n = static_cast<double>(samples.size() * samples[0].size() / channels);
      for (const auto& sample : samples)
        for (std::size_t i = 0; i < sample.size(); ++i) mean[i % channels] += sample[i] / n;
      for (const auto& sample : samples)
        for (std::size_t i = 0; i < sample.size(); ++i)
          variance[i % channels] += std::pow(sample[i] - mean[i % channels], 2) / n;
    } else {
      mean = *variable("moving_mean"), variance = *variable("moving_variance");
    }
    const std::vector<double>*gamma = variable("gamma"), *beta = variable("beta");
    for (auto& sample : samples)
      for (std::size_t i = 0; i < sample.size(); ++i) {
        const std::size_t c = i % channels;
        sample[i] = (sample[i] - mean[c]) / std::sqrt(variance[c] + norm.epsilon) *
                        (gamma ? (*gamma)[c] : 1) +
                    (beta ? (*beta)[c] : 0);
      }
  }

  void operator()(const model::Activate& activate) const {
    for (auto& sample : samples)
      for (double& x : sample) x = activated(activate.function, x);
  }
  void operator()(const model::Flatten&) const {}
  void operator()(const model::Dropout&) const {}
  void operator()(const model::GaussianNoise&) const {}
};

double cross_entropy(const std::vector<double>& logits, std::int32_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double x : logits) sum += std::exp(x - largest);
  return largest + std::log(sum) - logits[static_cast<std::size_t>(label)];
}

double squared_error(const std::vector<double>& outputs, const float* targets) {
  double sum = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    sum += std::pow(outputs[i] - targets[i], 2) / static_cast<double>(outputs.size());
  return sum;
}

}  // namespace

double Reference::loss(const BatchView& batch, const Weights& weights, bool training) const {
  Samples samples;
  for (std::int64_t s = 0; s < batch.count; ++s) {
    const float* from = batch.inputs + s * network_.input.size();
    samples.emplace_back(from, from + network_.input.size());
  }
  for (const model::Layer& layer : network_.layers)
    std::visit(LayerPass{layer, weights, training, samples}, layer.kind);
  double sum = 0;
  for (std::size_t s = 0; s < samples.size(); ++s)
    sum += loss_ == model::Loss::mean_squared_error
               ? squared_error(samples[s], batch.targets + s * samples[s].size())
               : cross_entropy(samples[s], batch.labels[s]);
  sum /= static_cast<double>(batch.count);
  for (const model::Parameter& parameter : model::parameters(network_))
    for (const double w : weights.at(parameter.name))
      sum += parameter.regularizer.l1 * std::abs(w) + parameter.regularizer.l2 * w * w;
  return sum;
}

Reference::Weights Reference::weights_of(const std::vector<Variable>& variables) {
  Weights weights;
  for (const Variable& variable : variables)
    weights[variable.parameter.name].assign(variable.values.begin(), variable.values.end());
  return weights;
}

}  // namespace sweetspot::engine::testing
