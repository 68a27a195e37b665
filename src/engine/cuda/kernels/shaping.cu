#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/planes.cuh"

// Layers that move values: padding, cropping, upsampling, permuting and reshaping.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = row_threads;

struct Border {
  BorderPass b;
  Divider by_spread_h, by_spread_w;
};
__global__ void border_kernel(const __grid_constant__ Rows<Border> r) {
  wait_for_predecessor();
  const BorderPass& b = r.pass.b;
  const auto load = [&](int row, int c) {
    const int3 p = r.positions.of(row);
    const int y = p.y - b.top, x = p.x - b.left;
    const int from_y = r.pass.by_spread_h.quotient(max(y, 0)),
              from_x = r.pass.by_spread_w.quotient(max(x, 0));
    const bool inside = y >= 0 && x >= 0 && from_y * b.spread_h == y && from_x * b.spread_w == x &&
                        from_y < b.in.height && from_x < b.in.width;
    return inside ? load4(b.from + index(b.in, p.z, from_y, from_x, c)) : float4{};
  };
  r.shares.each(load, [&](int row, int c, float4 v) {
    store4(b.to + std::int64_t{row} * b.out.pitch + c, v);
  });
}
__global__ void border_backward_kernel(const __grid_constant__ Rows<BorderPass> r) {
  wait_for_predecessor();
  const BorderPass& b = r.pass;
  const auto load = [&](int row, int c) {
    const int3 p = r.positions.of(row);
    const int y = p.y * b.spread_h + b.top, x = p.x * b.spread_w + b.left;
    const bool inside = y >= 0 && x >= 0 && y < b.out.height && x < b.out.width;
    return inside ? load4(b.from + index(b.out, p.z, y, x, c)) : float4{};
  };
  r.shares.each(load, [&](int row, int c, float4 v) {
    store4(b.to + std::int64_t{row} * b.in.pitch + c, v);
  });
}

struct Repeat {
  RepeatPass r;
  Divider by_height, by_width, by_channels;
};
// Channels twice, and the padding with them.
__device__ bool pairs(const RepeatPass& r) {
  return r.channels == 2 && r.out.pitch == 2 * r.in.pitch;
}
__global__ void repeat_kernel(const __grid_constant__ Rows<Repeat> rows) {
  wait_for_predecessor();
  const RepeatPass& r = rows.pass.r;
  const auto load = [&](int row, int c) {
    const int3 p = rows.positions.of(row);
    const float* from = r.from + index(r.in, p.z, rows.pass.by_height.quotient(p.y),
                                       rows.pass.by_width.quotient(p.x), 0);
    if (pairs(r)) {
      const auto two = *reinterpret_cast<const float2*>(from + c / 2);
      return float4{two.x, two.x, two.y, two.y};
    }
    const auto of = [&](int i) {
      return c + i < r.out.channels ? from[rows.pass.by_channels.quotient(c + i)] : 0.f;
    };
    return r.channels == 1 ? load4(from + c) : float4{of(0), of(1), of(2), of(3)};
  };
  rows.shares.each(load, [&](int row, int c, float4 v) {
    store4(r.to + std::int64_t{row} * r.out.pitch + c, v);
  });
}
__global__ void repeat_backward_kernel(const __grid_constant__ Rows<RepeatPass> rows) {
  wait_for_predecessor();
  const RepeatPass& r = rows.pass;
  const auto load = [&](int row, int c) {
    const int3 p = rows.positions.of(row);
    float4 sum{};
    // Parts of the last repeated row and column may be dead.
    for (int y = p.y * r.height; y < min((p.y + 1) * r.height, r.out.height); ++y)
      for (int x = p.x * r.width; x < min((p.x + 1) * r.width, r.out.width); ++x) {
        const float* from = r.from + index(r.out, p.z, y, x, c * r.channels);
        if (r.channels == 1) {
          sum = sum + load4(from);
          continue;
        }
        if (pairs(r)) {
          const float4 low = load4(from), high = load4(from + 4);
          sum = sum + float4{low.x + low.y, low.z + low.w, high.x + high.y, high.z + high.w};
          continue;
        }
        const auto of = [&](int i) {
          float all = 0;
          for (int k = 0; c + i < r.in.channels && k < r.channels; ++k)
            all += from[i * r.channels + k];
          return all;
        };
        sum = sum + float4{of(0), of(1), of(2), of(3)};
      }
    return sum;
  };
  rows.shares.each(load, [&](int row, int c, float4 v) {
    store4(r.to + std::int64_t{row} * r.in.pitch + c, v);
  });
}

struct Rearrange {
  RearrangePass r;
  Divider by_channels;
};
__global__ void rearrange_kernel(const __grid_constant__ Rows<Rearrange> rows) {
  wait_for_predecessor();
  const RearrangePass& r = rows.pass.r;
  rows.shares.each([&](int row, int c) {
    const int3 p = rows.positions.of(row);
    const float* from = r.from + std::int64_t{p.z} * r.in.floats();
    const int first = p.y * r.strides[0] + p.x * r.strides[1];
    const auto of = [&](int i) {
      if (c + i >= r.out.channels) return 0.f;
      const int e = first + (c + i) * r.strides[2];
      const int position = rows.pass.by_channels.quotient(e);
      return from[position * r.in.pitch + (e - position * r.in.channels)];
    };
    store4(r.to + std::int64_t{row} * r.out.pitch + c, {of(0), of(1), of(2), of(3)});
  });
}

}  // namespace

cudaError_t launch_border(const BorderPass& b, cudaStream_t stream) {
  const Border border{b, Divider(static_cast<std::uint32_t>(b.spread_h)),
                      Divider(static_cast<std::uint32_t>(b.spread_w))};
  const auto r = rows_of(border, b.count, b.out);
  return launch(border_kernel, r.shares.fewer_blocks(current_chip().multiprocessors), threads, 0,
                stream, r);
}
cudaError_t launch_border_backward(const BorderPass& b, cudaStream_t stream) {
  const auto r = rows_of(b, b.count, b.in);
  return launch(border_backward_kernel, r.shares.fewer_blocks(current_chip().multiprocessors),
                threads, 0, stream, r);
}
cudaError_t launch_repeat(const RepeatPass& r, cudaStream_t stream) {
  const Repeat repeat{r, Divider(static_cast<std::uint32_t>(r.height)),
                      Divider(static_cast<std::uint32_t>(r.width)),
                      Divider(static_cast<std::uint32_t>(r.channels))};
  const auto rows = rows_of(repeat, r.count, r.out);
  return launch(repeat_kernel, rows.shares.fewer_blocks(current_chip().multiprocessors), threads, 0,
                stream, rows);
}
cudaError_t launch_repeat_backward(const RepeatPass& r, cudaStream_t stream) {
  const auto rows = rows_of(r, r.count, r.in);
  return launch(repeat_backward_kernel, rows.shares.fewer_blocks(current_chip().multiprocessors),
                threads, 0, stream, rows);
}
cudaError_t launch_rearrange(const RearrangePass& r, cudaStream_t stream) {
  const Rearrange rearrange{r, Divider(static_cast<std::uint32_t>(r.in.channels))};
  const auto rows = rows_of(rearrange, r.count, r.out);
  return launch(rearrange_kernel, rows.shares.blocks(), threads, 0, stream, rows);
}

}  // namespace sweetspot::engine::cuda
