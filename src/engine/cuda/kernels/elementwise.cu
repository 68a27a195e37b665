#include <algorithm>

#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 256;
int blocks_for(std::int64_t items) {
  return static_cast<int>(std::clamp<std::int64_t>((items + threads - 1) / threads, 1, 132 * 16));
}
#define EACH(i, n)                                                                    \
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < (n); \
       i += std::int64_t{gridDim.x} * blockDim.x)

struct Gather {
  Source source;
  int count, full_h, full_w, channels, live_h, live_w, padded;
  float* to;
};
__global__ void gather_kernel(const __grid_constant__ Gather g) {
  wait_for_predecessor();
  const std::int64_t floats = std::int64_t{g.live_h} * g.live_w * g.padded;
  EACH(i, g.count * floats) {
    const int sample = static_cast<int>(i / floats);
    int rest = static_cast<int>(i - sample * floats);
    const int c = rest % g.padded;
    rest /= g.padded;
    const int x = rest % g.live_w, y = rest / g.live_w;
    const std::int64_t from =
        (std::int64_t{g.source.row(sample)} * g.full_h * g.full_w + y * g.full_w + x) * g.channels +
        c;
    g.to[i] = c >= g.channels  ? 0.f
              : g.source.bytes ? g.source.bytes[from] * (1.f / 255)
                               : g.source.floats[from];
  }
}

__global__ void activation_kernel(const __grid_constant__ Elementwise e) {
  wait_for_predecessor();
  EACH(i, e.count) {
    const float x = e.input[i];
    float y = x;
    if (e.function == Function::relu) y = rectified(x);
    if (e.function == Function::tanh) y = tanhf(x);
    if (e.function == Function::sigmoid) y = i % e.padded < e.channels ? 1 / (1 + expf(-x)) : 0.f;
    e.to[i] = y;
  }
}

__global__ void activation_backward_kernel(const __grid_constant__ Elementwise e) {
  wait_for_predecessor();
  EACH(i, e.count) {
    const float y = e.output[i];
    float g = e.gradient[i];
    if (e.function == Function::relu) g = y > 0 ? g : 0.f;
    if (e.function == Function::tanh) g *= 1 - y * y;
    if (e.function == Function::sigmoid) g *= y * (1 - y);
    e.to[i] = g;
  }
}

__global__ void dropout_kernel(const __grid_constant__ DropoutPass d) {
  wait_for_predecessor();
  EACH(i, d.count * d.sample_floats) {
    const int sample = static_cast<int>(i / d.sample_floats);
    const int rest = static_cast<int>(i - sample * d.sample_floats);
    const int c = rest % d.padded, position = rest / d.padded;
    const int x = position % d.width, y = position / d.width;
    const bool keep =
        c < d.channels && survives(d.mask, sample, (y * d.mask.full_width + x) * d.channels + c);
    d.keep[i] = keep;
    d.to[i] = keep ? d.from[i] * d.mask.scale : 0.f;
  }
}

__global__ void dropout_backward_kernel(const __grid_constant__ DropoutPass d) {
  wait_for_predecessor();
  EACH(i, d.count * d.sample_floats) d.to[i] = d.keep[i] ? d.from[i] * d.mask.scale : 0.f;
}

__global__ void pool_kernel(const __grid_constant__ PoolPass p) {
  wait_for_predecessor();
  EACH(i, std::int64_t{p.count} * p.out_h * p.out_w * p.padded) {
    std::int64_t rest = i / p.padded;
    const int c = static_cast<int>(i % p.padded);
    const int x = static_cast<int>(rest % p.out_w), y = static_cast<int>(rest / p.out_w % p.out_h);
    const std::int64_t sample = rest / p.out_w / p.out_h;
    const int top = y * p.stride_h - p.pad_top, left = x * p.stride_w - p.pad_left;
    const int y0 = max(top, 0), y1 = min(top + p.window_h, p.in_h);
    const int x0 = max(left, 0), x1 = min(left + p.window_w, p.in_w);
    const float* plane = p.from + sample * p.in_h * p.in_w * p.padded + c;
    if (p.max) {
      int best = y0 * p.in_w + x0;
      for (int iy = y0; iy < y1; ++iy)
        for (int ix = x0; ix < x1; ++ix) {
          const int at = iy * p.in_w + ix;
          if (at != best &&
              beats(plane[std::int64_t{at} * p.padded], plane[std::int64_t{best} * p.padded]))
            best = at;
        }
      if (p.winner) p.winner[i] = best;
      p.to[i] = plane[std::int64_t{best} * p.padded];
    } else {
      float sum = 0;
      for (int iy = y0; iy < y1; ++iy)
        for (int ix = x0; ix < x1; ++ix) sum += plane[std::int64_t{iy * p.in_w + ix} * p.padded];
      p.to[i] = sum / static_cast<float>((y1 - y0) * (x1 - x0));
    }
  }
}

// Every input element asks the windows that may have read it: no element is written twice.
__global__ void pool_backward_kernel(const __grid_constant__ PoolPass p) {
  wait_for_predecessor();
  EACH(i, std::int64_t{p.count} * p.in_h * p.in_w * p.padded) {
    std::int64_t rest = i / p.padded;
    const int c = static_cast<int>(i % p.padded);
    const int x = static_cast<int>(rest % p.in_w), y = static_cast<int>(rest / p.in_w % p.in_h);
    const std::int64_t sample = rest / p.in_w / p.in_h;
    const int first_y = max(0, (y + p.pad_top - p.window_h + p.stride_h) / p.stride_h);
    const int first_x = max(0, (x + p.pad_left - p.window_w + p.stride_w) / p.stride_w);
    const int last_y = min(p.out_h - 1, (y + p.pad_top) / p.stride_h);
    const int last_x = min(p.out_w - 1, (x + p.pad_left) / p.stride_w);
    float sum = 0;
    for (int oy = first_y; oy <= last_y; ++oy)
      for (int ox = first_x; ox <= last_x; ++ox) {
        const std::int64_t out = ((sample * p.out_h + oy) * p.out_w + ox) * p.padded + c;
        if (p.max) {
          if (p.winner[out] == y * p.in_w + x) sum += p.from[out];
        } else {
          const int top = oy * p.stride_h - p.pad_top, left = ox * p.stride_w - p.pad_left;
          const int high = min(top + p.window_h, p.in_h) - max(top, 0);
          const int wide = min(left + p.window_w, p.in_w) - max(left, 0);
          sum += p.from[out] * (1 / static_cast<float>(high * wide));
        }
      }
    p.to[i] = sum;
  }
}

}  // namespace

cudaError_t launch_gather(const Source& source, int count, int full_h, int full_w, int channels,
                          int live_h, int live_w, int padded, float* to, cudaStream_t stream) {
  return launch(gather_kernel, blocks_for(std::int64_t{count} * live_h * live_w * padded), threads,
                0, stream,
                Gather{source, count, full_h, full_w, channels, live_h, live_w, padded, to});
}
cudaError_t launch_activation(const Elementwise& e, cudaStream_t stream) {
  return launch(activation_kernel, blocks_for(e.count), threads, 0, stream, e);
}
cudaError_t launch_activation_backward(const Elementwise& e, cudaStream_t stream) {
  return launch(activation_backward_kernel, blocks_for(e.count), threads, 0, stream, e);
}
cudaError_t launch_dropout(const DropoutPass& d, cudaStream_t stream) {
  return launch(dropout_kernel, blocks_for(d.count * d.sample_floats), threads, 0, stream, d);
}
cudaError_t launch_dropout_backward(const DropoutPass& d, cudaStream_t stream) {
  return launch(dropout_backward_kernel, blocks_for(d.count * d.sample_floats), threads, 0, stream,
                d);
}
cudaError_t launch_pool(const PoolPass& p, cudaStream_t stream) {
  return launch(pool_kernel, blocks_for(std::int64_t{p.count} * p.out_h * p.out_w * p.padded),
                threads, 0, stream, p);
}
cudaError_t launch_pool_backward(const PoolPass& p, cudaStream_t stream) {
  return launch(pool_backward_kernel,
                blocks_for(std::int64_t{p.count} * p.in_h * p.in_w * p.padded), threads, 0, stream,
                p);
}

}  // namespace sweetspot::engine::cuda
