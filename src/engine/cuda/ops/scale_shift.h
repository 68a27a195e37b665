#pragma once
#include <optional>

#include "engine/cuda/op.h"

namespace sweetspot::engine::cuda {

// The partial gradients of a normalisation's scale and shift, either of which may be absent.
class ScaleShiftPartials {
 public:
  void claim(Planner& planner, std::optional<std::int64_t> gamma, std::optional<std::int64_t> beta,
             std::int64_t floats, int splits) {
    splits_ = splits;
    for (const auto& [weights, partials] : {std::pair{gamma, &gamma_}, {beta, &beta_}})
      if (weights)
        *partials =
            PartialGradients{*weights, floats, planner.claim_partials(floats * splits), splits};
  }
  std::vector<PartialGradients> list() const {
    std::vector<PartialGradients> list;
    for (const auto& partials : {gamma_, beta_})
      if (partials) list.push_back(*partials);
    return list;
  }
  int splits() const { return splits_; }
  float* gamma(const Pass& pass) const { return at(gamma_, pass); }
  float* beta(const Pass& pass) const { return at(beta_, pass); }

 private:
  static float* at(const std::optional<PartialGradients>& partials, const Pass& pass) {
    return partials ? pass.partials + partials->offset : nullptr;
  }
  std::optional<PartialGradients> gamma_, beta_;
  int splits_ = 1;
};

}  // namespace sweetspot::engine::cuda
