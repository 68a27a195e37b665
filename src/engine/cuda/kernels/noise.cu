#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/planes.cuh"

// Normal noise, and dropout of whole channels.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = row_threads;

// Elements e and e + 16 of each 32 are a Box-Muller pair, as on the CPU.
__device__ float noise_of(const NoisePass& n, int sample, std::uint32_t e) {
  const uint4 words = dropout_words(n.mask, static_cast<std::uint32_t>(sample), e);
  const bool upper = e / 32 % 2;
  const std::uint32_t first = upper ? words.z : words.x, second = upper ? words.w : words.y;
  const float u = (static_cast<float>(first >> 8) + 1) * 0x1p-24f;
  const float v = static_cast<float>(second >> 8) * 0x1p-24f - 0.5f;
  float sine, cosine;
  sincospif(2 * v, &sine, &cosine);
  return n.stddev * sqrtf(-2 * logf(u)) * (e / 16 % 2 ? sine : cosine);
}
__global__ void noise_kernel(const __grid_constant__ Rows<NoisePass> r) {
  wait_for_predecessor();
  const NoisePass& n = r.pass;
  r.shares.each([&](int row, int c) {
    const int3 p = r.positions.of(row);
    const auto e =
        static_cast<std::uint32_t>((p.y * n.mask.full_width + p.x) * n.plane.channels + c);
    const std::int64_t at = std::int64_t{row} * n.plane.pitch + c;
    const float4 noise{noise_of(n, p.z, e), noise_of(n, p.z, e + 1), noise_of(n, p.z, e + 2),
                       noise_of(n, p.z, e + 3)};
    store4(n.to + at, load4(n.from + at) + without_padding(noise, c, n.plane.channels));
  });
}

// A row is a part of a sample's positions, all of which have the same mask.
struct ChannelDropout {
  NoisePass n;
  RowShares shares;
  int parts, part_positions;
  Divider by_parts;
};
__global__ void channel_dropout_kernel(const __grid_constant__ ChannelDropout d) {
  wait_for_predecessor();
  const NoisePass& n = d.n;
  d.shares.each([&](int row, int c) {
    const int sample = d.by_parts.quotient(row), part = row - sample * d.parts;
    const auto factor = [&](int i) {
      return c + i < n.plane.channels && survives(n.mask, static_cast<std::uint32_t>(sample),
                                                  static_cast<std::uint32_t>(c + i))
                 ? n.mask.scale
                 : 0.f;
    };
    const float4 factors{factor(0), factor(1), factor(2), factor(3)};
    const int positions = n.plane.height * n.plane.width, begin = part * d.part_positions;
    for (int i = begin; i < min(begin + d.part_positions, positions); ++i) {
      const std::int64_t at = (std::int64_t{sample} * positions + i) * n.plane.pitch + c;
      const float4 v = load4(n.from + at);
      store4(n.to + at,
             {factors.x == 0 ? 0.f : v.x * factors.x, factors.y == 0 ? 0.f : v.y * factors.y,
              factors.z == 0 ? 0.f : v.z * factors.z, factors.w == 0 ? 0.f : v.w * factors.w});
    }
  });
}

}  // namespace

cudaError_t launch_noise(const NoisePass& n, cudaStream_t stream) {
  const auto r = rows_of(n, n.count, n.plane);
  return launch(noise_kernel, r.shares.blocks(), threads, 0, stream, r);
}
cudaError_t launch_channel_dropout(const NoisePass& n, cudaStream_t stream) {
  constexpr int most_positions = 16;  // of a thread, which first draws its numbers
  const int positions = n.plane.height * n.plane.width;
  ChannelDropout d{n, {}, (positions + most_positions - 1) / most_positions};
  d.part_positions = (positions + d.parts - 1) / d.parts;
  d.by_parts = Divider(static_cast<std::uint32_t>(d.parts));
  d.shares = RowShares(std::int64_t{n.count} * d.parts, n.plane.pitch);
  return launch(channel_dropout_kernel, d.shares.blocks(), threads, 0, stream, d);
}

}  // namespace sweetspot::engine::cuda
