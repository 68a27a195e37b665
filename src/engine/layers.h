#pragma once
#include <cstdint>

// What layers compute, as plain values for the kernels of every device. No more of the standard
// library is included here: kernel files are compiled for several instruction sets.
namespace sweetspot::engine {

// Channels come in units of 16 floats on the CPU: one AVX-512 register, two AVX2, four SSE.
constexpr std::int64_t unit = 16;
constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// A function of each element; see model::Activation for what the constants mean.
struct ElementFunction {
  enum class Kind {
    rectified,
    elu,
    selu,
    gelu,
    gelu_tanh,
    swish,
    softplus,
    softsign,
    exponential,
    hard_sigmoid
  };
  Kind kind;
  float slope, threshold, most;
};
// Whether the backward pass uses the input rather than the output.
constexpr bool derives_from_input(ElementFunction::Kind kind) {
  using Kind = ElementFunction::Kind;
  return kind == Kind::rectified || kind == Kind::gelu || kind == Kind::gelu_tanh ||
         kind == Kind::swish;
}

// One filter per channel, over the plane of one unit.
struct DepthwisePlane {
  std::int64_t in_height, in_width, out_height, out_width;
  std::int64_t kernel_height, kernel_width, stride_height, stride_width, pad_top, pad_left;
};

}  // namespace sweetspot::engine
