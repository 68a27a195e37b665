#pragma once
#include <vector>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// The depth of a convolution's products without the padding of its last unit of channels: whole
// units are multiplied a row of the kernel at a time, of the last unit each tap's channels alone.
// A kernel from 24 channels has three quarters of the multiplications.
class ChannelRuns {
 public:
  // Of a kernel of lines × columns taps over an image in planes, with strides in floats.
  ChannelRuns(std::int64_t channels, std::int64_t lines, std::int64_t columns,
              std::int64_t line_stride, std::int64_t plane);

  // `m`: the product with padding, a segment for each unit and line.
  void multiply(const Kernels& kernels, const Multiply& m) const;
  // `o`: the weight gradient of one tap of the first unit; `frame`: the image. The others follow.
  void outer(const Kernels& kernels, Outer o, const float* frame) const;

 private:
  std::vector<std::int32_t> whole_, last_;  // offsets of lines, and of taps in the last unit
  std::int64_t columns_, used_;             // channels of the last unit, if they are fewer
};

}  // namespace sweetspot::engine::cpu
