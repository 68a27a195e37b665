#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trainer.h"
#include "model/network.h"

namespace sweetspot::engine::testing {

// The same layers without discontinuities: `smooth` for ReLU, averages for maxima.
inline model::Network without_edges(model::Network network, model::Activation smooth) {
  const auto replace = [&](model::Activation& activation) {
    if (activation == model::Activation::relu) activation = smooth;
  };
  for (model::Layer& layer : network.layers) {
    if (auto* conv = std::get_if<model::Conv2D>(&layer.kind)) replace(conv->activation);
    if (auto* depthwise = std::get_if<model::DepthwiseConv2D>(&layer.kind))
      replace(depthwise->activation);
    if (auto* dense = std::get_if<model::Dense>(&layer.kind)) replace(dense->activation);
    if (auto* activate = std::get_if<model::Activate>(&layer.kind)) replace(activate->function);
    if (auto* pool = std::get_if<model::Pooling2D>(&layer.kind))
      pool->kind = model::Pooling2D::Kind::average;
  }
  return network;
}

// Operations of the plan whose description contains the word.
inline int operations_with(std::string_view word, const Plan& plan) {
  const std::vector<Operation> all = plan.operations();
  return static_cast<int>(std::ranges::count_if(
      all, [&](const Operation& op) { return op.implementation.find(word) != std::string::npos; }));
}

// The norm of each variable's difference, relative to the variable's.
inline void expect_near(const std::vector<Variable>& found, const std::vector<Variable>& expected,
                        double near) {
  ASSERT_EQ(found.size(), expected.size());
  double worst = 0;
  for (std::size_t p = 0; p < expected.size(); ++p) {
    double wrong = 0, right = 0;
    for (std::size_t i = 0; i < expected[p].values.size(); ++i) {
      const double wanted = expected[p].values[i], off = found[p].values[i] - wanted;
      wrong += off * off, right += wanted * wanted;
    }
    EXPECT_GT(right, 0) << expected[p].parameter.name;
    EXPECT_LE(std::sqrt(wrong), near * std::sqrt(right)) << expected[p].parameter.name;
    worst = std::max(worst, std::sqrt(wrong / right));
  }
  ::testing::Test::RecordProperty("deviation", std::to_string(worst));
}

}  // namespace sweetspot::engine::testing
