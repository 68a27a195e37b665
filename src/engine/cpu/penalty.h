#pragma once
#include <vector>

#include "engine/cpu/kernels/kernels.h"
#include "engine/cpu/team.h"
#include "engine/cpu/weights.h"

namespace sweetspot::engine::cpu {

// What Keras' regularizers add to the loss and to the gradients: l1 · |w| + l2 · w² for each weight
// of the variables that have one.
class Penalties {
 public:
  explicit Penalties(const WeightLayout& layout);

  // In blocks whose sums are added in order, so that the result does not depend on the number of
  // threads.
  double loss(const float* weights, Team& team);
  // The part of weights [offset, offset + count), whose gradients these are.
  void add_gradients(const float* weights, std::int64_t offset, std::int64_t count,
                     float* gradients) const;

 private:
  struct Stretch {
    std::int64_t offset, count;
    float l1, l2;
  };
  std::vector<Stretch> stretches_, blocks_;
  std::vector<double> sums_;  // one per block
};

}  // namespace sweetspot::engine::cpu
