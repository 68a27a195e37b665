#include "support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/error.h"
#include "model/keras.h"

namespace sweetspot::model {
namespace {

std::string text(const Initializer& i) {
  return fmt::format("{}({} {} {} {} {} {} {})", static_cast<int>(i.kind), i.mean, i.stddev, i.low,
                     i.high, i.scale, static_cast<int>(i.mode), static_cast<int>(i.distribution));
}

std::string text(const Activation& a) {
  return fmt::format("{}({} {} {})", static_cast<int>(a.kind), a.slope, a.threshold, a.most);
}

std::string text(const Regularizer& r) { return fmt::format("{}+{}", r.l1, r.l2); }

std::string text(const Window& w) { return fmt::format("{}x{}", w.height, w.width); }

struct Describe {
  std::string operator()(const Conv2D& c) const {
    return fmt::format("conv {} {} {} {} {} {} {} {} {}", c.filters, text(c.kernel),
                       text(c.strides), static_cast<int>(c.padding), text(c.activation), c.use_bias,
                       text(c.kernel_initializer), text(c.bias_initializer),
                       static_cast<int>(c.layout));
  }
  std::string operator()(const DepthwiseConv2D& c) const {
    return fmt::format("depthwise {} {} {} {} {} {} {} {} {}", c.multiplier, text(c.kernel),
                       text(c.strides), static_cast<int>(c.padding), text(c.activation), c.use_bias,
                       text(c.kernel_initializer), text(c.kernel_regularizer),
                       static_cast<int>(c.layout));
  }
  std::string operator()(const Border& b) const {
    return fmt::format("border {} {} {} {} {}", b.top, b.bottom, b.left, b.right, text(b.spread));
  }
  std::string operator()(const Repeat& r) const {
    return fmt::format("repeat {} {} {}", r.height, r.width, r.channels);
  }
  std::string operator()(const Rearrange& r) const {
    return fmt::format(
        "rearrange {} {}", to_string(r.target),
        r.axes ? fmt::format("{}{}{}", (*r.axes)[0], (*r.axes)[1], (*r.axes)[2]) : "in order");
  }
  std::string operator()(const GaussianNoise& n) const { return fmt::format("noise {}", n.stddev); }
  std::string operator()(const Rescaling& r) const {
    return fmt::format("rescaling {} {}", r.scale, r.offset);
  }
  std::string operator()(const PReLU& p) const {
    return fmt::format("prelu {}{}{} {}", int{p.shares_height}, int{p.shares_width},
                       int{p.shares_channels}, text(p.alpha_initializer));
  }
  std::string operator()(const LayerNormalization& n) const {
    return fmt::format("layer norm {} {} {}", n.epsilon, n.center, n.scale);
  }
  std::string operator()(const GlobalMaxPooling2D& p) const {
    return fmt::format("global max {}", p.keepdims);
  }
  std::string operator()(const Pooling2D& p) const {
    return fmt::format("pool {} {} {} {}", static_cast<int>(p.kind), text(p.size), text(p.strides),
                       static_cast<int>(p.padding));
  }
  std::string operator()(const GlobalAveragePooling2D& p) const {
    return fmt::format("global average {}", p.keepdims);
  }
  std::string operator()(const Flatten&) const { return "flatten"; }
  std::string operator()(const Dense& d) const {
    return fmt::format("dense {} {} {} {} {}", d.units, text(d.activation), d.use_bias,
                       text(d.kernel_initializer), text(d.bias_initializer));
  }
  std::string operator()(const Dropout& d) const {
    return fmt::format("dropout {} {}", d.rate, d.whole_channels);
  }
  std::string operator()(const Activate& a) const {
    return fmt::format("activate {}", text(a.function));
  }
  std::string operator()(const BatchNormalization& n) const {
    return fmt::format("norm {} {} {} {} {} {} {} {}", n.momentum, n.epsilon, n.center, n.scale,
                       text(n.beta_initializer), text(n.gamma_initializer),
                       text(n.moving_mean_initializer), text(n.moving_variance_initializer));
  }
};

}  // namespace

std::string fixture(std::string_view path) {
  std::ifstream file(fmt::format("{}/tests/fixtures/{}", SWEETSPOT_SOURCE_DIR, path));
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string sequential(std::string_view layers, std::string_view shape) {
  return fmt::format(R"({{"class_name": "Sequential", "config": {{"name": "net", "layers": [
      {{"class_name": "InputLayer", "config": {{"name": "in", "batch_shape": {}}}}}{}{}]}}}})",
                     shape, layers.empty() ? "" : ", ", layers);
}

std::string layer(std::string_view class_name, std::string_view config) {
  return fmt::format(R"({{"class_name": "{}", "config": {{"name": "it"{}{}}}}})", class_name,
                     config.empty() ? "" : ", ", config);
}

std::string describe(const Network& network) {
  std::string all = to_string(network.input) + "\n";
  for (const Layer& one : network.layers)
    all += fmt::format("{} {} {}\n", to_string(one.input), std::visit(Describe{}, one.kind),
                       to_string(one.output));
  return all;
}

std::string refusal(std::string_view json) {
  try {
    read_keras(json, "net.json");
  } catch (const core::InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << json;
  return "";
}

}  // namespace sweetspot::model
