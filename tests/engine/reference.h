#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/trainer.h"
#include "model/network.h"

namespace sweetspot::engine::testing {

// A network as Keras defines it, in double precision and plain loops: the reference for the engine.
// Dropout is off.
class Reference {
 public:
  using Weights = std::map<std::string, std::vector<double>>;  // by Keras' variable name

  Reference(const model::Network& network, model::Loss loss) : network_(network), loss_(loss) {}

  // The mean loss over the batch; batch normalisation uses the batch's own statistics in training,
  // the moving ones otherwise.
  double loss(const BatchView& batch, const Weights& weights, bool training) const;

  static Weights weights_of(const std::vector<Variable>& variables);

 private:
  const model::Network& network_;
  model::Loss loss_;
};

}  // namespace sweetspot::engine::testing
