#pragma once
#include <string_view>

namespace sweetspot::engine {

// Arithmetic of convolutions and dense layers. Weights, activations, gradients, sums and the
// optimizer are always fp32: a precision is how operands are rounded before they are multiplied. A
// GPU supports all of them; fp16 uses dynamic loss scaling on the device. A CPU has fp32, and bf16
// if it has instructions for it.
enum class Precision { fp32, tf32, bf16, fp16 };
std::string_view name(Precision precision);
constexpr Precision precisions[] = {Precision::fp32, Precision::tf32, Precision::bf16,
                                    Precision::fp16};  // the most exact first

}  // namespace sweetspot::engine
