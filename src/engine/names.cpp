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

std::string_view name(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
  }
  return "";
}

}  // namespace sweetspot::engine
