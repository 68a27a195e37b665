#include "engine/trainer.h"

namespace sweetspot::engine {

std::string_view name(Optimizer::Kind kind) {
  switch (kind) {
    case Optimizer::Kind::sgd:
      return "sgd";
    case Optimizer::Kind::momentum:
      return "momentum";
    case Optimizer::Kind::nesterov:
      return "nesterov";
    case Optimizer::Kind::adam:
      return "adam";
    case Optimizer::Kind::adamw:
      return "adamw";
  }
  return "";
}

}  // namespace sweetspot::engine
