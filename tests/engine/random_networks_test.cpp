#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/cpu/cpu.h"
#include "golden.h"
#include "reference.h"

namespace sweetspot::engine {
namespace {

using namespace testing;
using nlohmann::json;

// Small Sequential networks of every layer kind, with sizes at the corner cases of kernels,
// strides, padding, units of 16 channels and panels of 64 columns.
class NetworkMaker {
 public:
  explicit NetworkMaker(unsigned seed) : draw_(seed) {}

  std::string keras() {
    height_ = pick({1, 2, 3, 5, 6, 7, 9, 10, 11, 13}), width_ = pick({1, 2, 4, 5, 7, 8, 9, 12});
    const int channels = pick({1, 1, 2, 3, 16, 17, 20});
    layers_ = json::array();
    add("InputLayer", {{"batch_input_shape", {nullptr, height_, width_, channels}}});
    for (int left = below(6); left > 0; --left) add_image_layer();
    if (chance(25))
      add(chance(60) ? "GlobalAveragePooling2D" : "GlobalMaxPooling2D", {});
    else
      add("Flatten", {});
    for (int left = below(4); left > 0; --left) add_vector_layer();
    const bool classifies = chance(70);
    add("Dense", {{"units", classifies ? 2 + below(19) : 1 + below(3)},
                  {"use_bias", chance(80)},
                  {"activation", classifies ? "softmax" : "linear"}});
    return json{{"class_name", "Sequential"},
                {"config", {{"name", "random"}, {"layers", layers_}}},
                {"keras_version", "2.11.0"}}
        .dump();
  }

  int below(int n) { return static_cast<int>(draw_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  double uniform() { return static_cast<double>(draw_()) * 0x1p-32; }

 private:
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

  void add(const char* kind, json config) {
    config["name"] = std::string(kind) + std::to_string(layers_.size());
    layers_.push_back({{"class_name", kind}, {"config", std::move(config)}});
  }

  // "valid" only if the window fits.
  std::string padding(int high, int wide) {
    return high > height_ || wide > width_ || chance(40) ? "same" : "valid";
  }
  void slide(int high, int wide, int down, int right, bool same) {
    height_ = same ? (height_ + down - 1) / down : (height_ - high) / down + 1;
    width_ = same ? (width_ + right - 1) / right : (width_ - wide) / right + 1;
  }

  void add_conv() {
    const int high = 1 + below(5), wide = chance(60) ? high : 1 + below(5);
    const int down = pick({1, 1, 1, 2, 3}), right = chance(70) ? down : 1 + below(3);
    const std::string pad = padding(high, wide);
    add("Conv2D", {{"filters", pick({1, 3, 8, 16, 17, 33, 66})},
                   {"kernel_size", {high, wide}},
                   {"strides", {down, right}},
                   {"padding", pad},
                   {"use_bias", chance(75)},
                   {"kernel_regularizer", penalty()},
                   {"activation", function()}});
    slide(high, wide, down, right, pad == "same");
  }

  const char* function() {
    return pick({"linear", "relu", "relu", "relu", "tanh", "sigmoid", "elu", "selu", "gelu",
                 "gelu_new", "swish", "softplus", "softsign", "hard_sigmoid", "leaky_relu",
                 "relu6"});
  }
  json penalty() {
    if (chance(80)) return nullptr;
    return {{"class_name", "L1L2"},
            {"config", {{"l1", pick({0.0, 0.01})}, {"l2", pick({0.0, 0.02})}}}};
  }

  // Depthwise layers, and transposed strides.
  void add_other_conv() {
    const int high = 1 + below(5), wide = chance(60) ? high : 1 + below(6);
    const int down = pick({1, 1, 2, 3}), right = chance(70) ? down : 1 + below(3);
    const char* kind =
        pick({"DepthwiseConv2D", "DepthwiseConv2D", "SeparableConv2D", "Conv2DTranspose"});
    const bool transposed = std::string(kind) == "Conv2DTranspose";
    const std::string pad = transposed ? pick({"same", "valid"}) : padding(high, wide);
    json config{{"kernel_size", {high, wide}},
                {"strides", {down, right}},
                {"padding", pad},
                {"use_bias", chance(75)},
                {"activation", function()}};
    if (!transposed) config["depth_multiplier"] = pick({1, 1, 2, 3});
    if (std::string(kind) != "DepthwiseConv2D") config["filters"] = pick({1, 3, 17});
    add(kind, config);
    if (!transposed) return slide(high, wide, down, right, pad == "same");
    height_ = height_ * down + (pad == "valid" ? std::max(high - down, 0) : 0);
    width_ = width_ * right + (pad == "valid" ? std::max(wide - right, 0) : 0);
  }

  void add_shaping() {
    switch (below(5)) {
      case 0: {
        const int top = below(3), bottom = below(3), left = below(3), right = below(3);
        add("ZeroPadding2D", {{"padding", {{top, bottom}, {left, right}}}});
        height_ += top + bottom, width_ += left + right;
        return;
      }
      case 1: {
        const int top = below(std::min(height_, 3)), left = below(std::min(width_, 3));
        const int bottom = below(std::min(height_ - top, 3)),
                  right = below(std::min(width_ - left, 3));
        add("Cropping2D", {{"cropping", {{top, bottom}, {left, right}}}});
        height_ -= top + bottom, width_ -= left + right;
        return;
      }
      case 2: {
        if (height_ * width_ > 150) return;
        const int high = 1 + below(3), wide = 1 + below(2);
        add("UpSampling2D", {{"size", {high, wide}}});
        height_ *= high, width_ *= wide;
        return;
      }
      case 3:
        add("Permute", {{"dims", {2, 1, 3}}});
        std::swap(height_, width_);
        return;
      default:
        add("Reshape", {{"target_shape", {width_, height_, -1}}});
        std::swap(height_, width_);
    }
  }

  void add_pool() {
    const int high = 1 + below(3), wide = chance(70) ? high : 1 + below(3);
    const int down = chance(70) ? high : 1 + below(3), right = chance(70) ? wide : 1 + below(3);
    const std::string pad = padding(high, wide);
    add(chance(70) ? "MaxPooling2D" : "AveragePooling2D",
        {{"pool_size", {high, wide}}, {"strides", {down, right}}, {"padding", pad}});
    slide(high, wide, down, right, pad == "same");
  }

  void add_elementwise(bool image) {
    switch (below(9)) {
      case 0:
      case 1:
        return add("Activation", {{"activation", function()}});
      case 2:
        return add("LayerNormalization", {{"scale", chance(80)}, {"center", chance(80)}});
      case 3: {
        json axes = nullptr;
        if (image && chance(70)) axes = chance(70) ? json{1, 2} : json{2, 3};
        return add("PReLU", {{"shared_axes", axes}});
      }
      case 4:
        return add("ReLU", {{"max_value", 1.5}, {"negative_slope", 0.25}, {"threshold", 0.125}});
      case 5:
        if (image) return add("SpatialDropout2D", {{"rate", 0.4}});
        return add("GaussianNoise", {{"stddev", 0.3}});
      case 6:
        return add("Rescaling", {{"scale", -1.5}, {"offset", 0.75}});
      case 7:
        return add("Dropout", {{"rate", pick({0.0, 0.3, 0.5})}});
      default:
        return add("BatchNormalization", {{"scale", chance(80)}, {"center", chance(80)}});
    }
  }

  void add_image_layer() {
    const int kind = below(14);
    if (kind < 4) return add_conv();
    if (kind < 7) return add_pool();
    if (kind < 9) return add_other_conv();
    if (kind < 11) return add_shaping();
    add_elementwise(true);
  }

  void add_vector_layer() {
    if (chance(50)) return add_elementwise(false);
    add("Dense", {{"units", pick({1, 3, 16, 19, 64, 70, 130})},
                  {"use_bias", chance(75)},
                  {"kernel_regularizer", penalty()},
                  {"bias_regularizer", penalty()},
                  {"activation", function()}});
  }

  std::mt19937 draw_;
  json layers_;
  int height_ = 1, width_ = 1;
};

struct Case {
  explicit Case(unsigned seed, const std::string& given = "")
      : maker(seed),
        keras(given.empty() ? maker.keras() : given),
        network(model::read_keras(keras, "random.json")),
        loss(model::natural_loss(network)),
        batch(network, loss != model::Loss::mean_squared_error, 1 + maker.below(21), seed) {}

  // Random weights of a size that keeps activations near one, without exact zeros: a ReLU at zero
  // has no slope to compare.
  std::vector<Variable> weights(const Trainer& trainer) {
    std::vector<Variable> variables = trainer.variables();
    for (Variable& variable : variables) {
      const bool kernel = variable.parameter.shape.size() > 1;
      const bool near_one = variable.parameter.name.ends_with("gamma") ||
                            variable.parameter.name.ends_with("moving_variance");
      const double size =
          kernel ? std::sqrt(6.0 / static_cast<double>(variable.parameter.fan_in)) : 0.5;
      for (float& value : variable.values)
        value = static_cast<float>((near_one ? 1.0 : 0.0) + size * (2 * maker.uniform() - 1));
    }
    return variables;
  }

  std::unique_ptr<Trainer> trainer(int threads) const {
    TrainerOptions options;
    options.loss = loss, options.threads = threads;
    return cpu::make_trainer(network, options);
  }

  bool has_batch_normalization() const {
    return std::ranges::any_of(network.layers, [](const model::Layer& layer) {
      return std::holds_alternative<model::BatchNormalization>(layer.kind);
    });
  }
  void turn_dropout_off() {
    for (model::Layer& layer : network.layers)
      if (auto* dropout = std::get_if<model::Dropout>(&layer.kind))
        dropout->rate = 0;
      else if (auto* noise = std::get_if<model::GaussianNoise>(&layer.kind))
        noise->stddev = 0;
  }

  NetworkMaker maker;
  std::string keras;
  model::Network network;
  model::Loss loss;
  GoldenBatch batch;
};

// The distance of two sets of gradients, relative to their size.
double distance(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  double apart = 0, size = 0;
  for (std::size_t v = 0; v < a.size(); ++v)
    for (std::size_t i = 0; i < a[v].values.size(); ++i) {
      apart += std::pow(double{a[v].values[i]} - b[v].values[i], 2);
      size += std::pow(double{a[v].values[i]}, 2);
    }
  return size == 0 ? std::sqrt(apart) : std::sqrt(apart / size);
}

class RandomNetworks : public ::testing::TestWithParam<unsigned> {
 protected:
  // Each instance has a share of the seeds, so that they run in parallel.
  template <class Check>
  void each_case(Check check) {
    constexpr unsigned cases = 25;
    for (unsigned seed = GetParam() * cases; seed < (GetParam() + 1) * cases && !HasFailure();
         ++seed) {
      Case one(seed);
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + one.keras);
      check(one);
    }
  }
};

TEST_P(RandomNetworks, EvaluateAsThePlainReferenceDoes) {
  each_case([](Case& c) {
    const auto trainer = c.trainer(2);
    const std::vector<Variable> weights = c.weights(*trainer);
    trainer->assign(weights);
    const double expected =
        Reference(c.network, c.loss).loss(c.batch.view(), Reference::weights_of(weights), false);
    EXPECT_NEAR(trainer->evaluate(c.batch.view()).loss, expected, 1e-4 * (1 + expected));
  });
}

void expect_the_references_loss_and_slopes(Case& c) {
  c.turn_dropout_off();
  const auto trainer = c.trainer(2);
  const std::vector<Variable> weights = c.weights(*trainer);
  trainer->assign(weights);
  const Reference reference(c.network, c.loss);
  const Reference::Weights start = Reference::weights_of(weights);
  const double expected = reference.loss(c.batch.view(), start, true);
  EXPECT_NEAR(trainer->accumulate(c.batch.view(), c.batch.count).loss, expected,
              1e-4 * (1 + expected));
  for (const Variable& gradient : trainer->gradients()) {
    SCOPED_TRACE(gradient.parameter.name);
    // Along a random direction, from the gradient and from differences of the reference.
    Reference::Weights ahead = start, behind = start;
    constexpr double step = 1e-7;
    double slope = 0, size = 0;
    for (std::size_t i = 0; i < gradient.values.size(); ++i) {
      const double direction = 2 * c.maker.uniform() - 1;
      ahead[gradient.parameter.name][i] += step * direction;
      behind[gradient.parameter.name][i] -= step * direction;
      slope += direction * double{gradient.values[i]};
      size += std::pow(double{gradient.values[i]}, 2);
    }
    const double measured = (reference.loss(c.batch.view(), ahead, true) -
                             reference.loss(c.batch.view(), behind, true)) /
                            (2 * step);
    EXPECT_NEAR(slope, measured, 2e-3 * std::sqrt(size) + 1e-4);
  }
}

TEST_P(RandomNetworks, HaveTheReferencesLossAndSlopes) {
  each_case(expect_the_references_loss_and_slopes);
}

// Between an input of 9×9×3 and a dense layer.
std::string network_of(const std::string& layers) {
  return R"({"class_name": "Sequential", "keras_version": "2.13.1", "config": {"name": "made-up", "layers": [
    {"class_name": "InputLayer", "config": {"name": "in", "batch_input_shape": [null, 9, 9, 3]}},)" +
         layers +
         R"({"class_name": "Flatten", "config": {"name": "f"}},
            {"class_name": "Dense", "config": {"name": "o", "units": 10, "activation": "softmax"}}]}})";
}

// What passes its input on in full, before channels that are repeated and a pooling that does not
// read the last rows; and normalisations that learn nothing, before the first layer that does.
TEST(MadeUpNetworks, HaveTheReferencesLossAndSlopes) {
  const std::string conv =
      R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 5, "kernel_size": 2}},)";
  const std::string repeats =
      R"({"class_name": "DepthwiseConv2D", "config": {"name": "X", "kernel_size": 1, "depth_multiplier": 2}},
         {"class_name": "MaxPooling2D", "config": {"name": "Y", "pool_size": 3}},)";
  const std::string norm = R"({"class_name": "BatchNormalization", "config": {"name": "n"}},)";
  const std::string plain =
      R"({"class_name": "BatchNormalization", "config": {"name": "p", "center": false, "scale": false}},)";
  const std::string relu = R"({"class_name": "ReLU", "config": {"name": "r"}},)";
  const std::string permute =
      R"({"class_name": "Permute", "config": {"name": "m", "dims": [2, 1, 3]}},)";
  for (const std::string& layers :
       {conv + norm + repeats, conv + norm + relu + repeats, conv + permute + repeats, plain + conv,
        plain + relu + conv, plain + repeats, plain + norm + conv}) {
    Case made_up(7, network_of(layers));
    SCOPED_TRACE(layers);
    expect_the_references_loss_and_slopes(made_up);
  }
}

TEST_P(RandomNetworks, DoNotDependOnThreads) {
  each_case([](Case& c) {
    const auto one = c.trainer(1), several = c.trainer(2 + c.maker.below(4));
    const std::vector<Variable> weights = c.weights(*one);
    one->assign(weights), several->assign(weights);
    const std::int64_t micro_batch = 1 + c.maker.below(static_cast<int>(c.batch.count));
    for (int step = 0; step < 2; ++step)
      EXPECT_EQ(one->step(c.batch.view(), micro_batch).loss,
                several->step(c.batch.view(), micro_batch).loss);
    EXPECT_EQ(one->evaluate(c.batch.view()).loss, several->evaluate(c.batch.view()).loss);
    EXPECT_EQ(distance(one->variables(), several->variables()), 0);
  });
}

TEST_P(RandomNetworks, DoNotDependOnMicroBatches) {
  each_case([](Case& c) {
    if (c.has_batch_normalization()) return;  // its statistics are the micro-batch's
    const auto trainer = c.trainer(2);
    trainer->assign(c.weights(*trainer));
    const double whole = trainer->accumulate(c.batch.view(), c.batch.count).loss;
    const std::vector<Variable> gradients = trainer->gradients();
    for (const std::int64_t micro_batch :
         {std::int64_t{1}, std::int64_t{1 + c.maker.below(static_cast<int>(c.batch.count))},
          c.batch.count + 3}) {
      SCOPED_TRACE("micro-batch " + std::to_string(micro_batch));
      EXPECT_NEAR(trainer->accumulate(c.batch.view(), micro_batch).loss, whole, 1e-5 * (1 + whole));
      EXPECT_LT(distance(gradients, trainer->gradients()), 1e-3);
      trainer->release(micro_batch);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNetworks, ::testing::Range(0u, 8u));

}  // namespace
}  // namespace sweetspot::engine
