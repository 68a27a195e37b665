#include "engine/element_function.h"

namespace sweetspot::engine {

std::optional<ElementFunction> element_function(const model::Activation& a) {
  using Kind = ElementFunction::Kind;
  const auto with = [&](Kind kind) { return ElementFunction{kind, a.slope, a.threshold, a.most}; };
  switch (a.kind) {
    case model::Activation::linear:
    case model::Activation::relu:
    case model::Activation::softmax:
    case model::Activation::sigmoid:
    case model::Activation::tanh:
      return std::nullopt;
    case model::Activation::rectified:
      return with(Kind::rectified);
    case model::Activation::elu:
      return with(Kind::elu);
    case model::Activation::selu:
      return with(Kind::selu);
    case model::Activation::gelu:
      return with(Kind::gelu);
    case model::Activation::gelu_tanh:
      return with(Kind::gelu_tanh);
    case model::Activation::swish:
      return with(Kind::swish);
    case model::Activation::softplus:
      return with(Kind::softplus);
    case model::Activation::softsign:
      return with(Kind::softsign);
    case model::Activation::exponential:
      return with(Kind::exponential);
    case model::Activation::hard_sigmoid:
      return with(Kind::hard_sigmoid);
  }
  return std::nullopt;
}

}  // namespace sweetspot::engine
