#include "engine/cuda/shapes.h"

#include "engine/cuda/weights.h"

namespace sweetspot::engine::cuda {

ConvShape conv_shape(const model::Network& network, const std::vector<Extent>& extents,
                     std::size_t layer) {
  const ConvGeometry g = conv_geometry(network, extents, layer);
  const auto narrow = [](std::int64_t n) { return static_cast<int>(n); };
  ConvShape s;
  s.in_h = narrow(g.in.height), s.in_w = narrow(g.in.width), s.channels = padded(g.in.channels);
  s.out_h = narrow(g.out.height), s.out_w = narrow(g.out.width);
  s.filters = padded(g.out.channels);
  s.kernel_h = narrow(g.kernel.height), s.kernel_w = narrow(g.kernel.width);
  s.stride_h = narrow(g.strides.height), s.stride_w = narrow(g.strides.width);
  s.pad_top = narrow(g.pad_top), s.pad_left = narrow(g.pad_left);
  // One position that reads the whole image: most taps of a convolution would be outside of it when
  // its gradient is computed.
  if (s.positions() == 1 && s.in_h == s.kernel_h && s.in_w == s.kernel_w && s.pad_top == 0 &&
      s.pad_left == 0)
    return dense_shape(g.in, g.out.channels);
  return s;
}

ConvShape dense_shape(const Extent& in, std::int64_t units) {
  ConvShape s;
  s.channels = static_cast<int>(in.positions()) * padded(in.channels);
  s.filters = padded(units);
  return s;
}

bool pooled_by_two(const model::Network& network, const std::vector<Extent>& extents,
                   std::size_t layer) {
  if (layer >= network.layers.size()) return false;
  const auto* pool = std::get_if<model::Pooling2D>(&network.layers[layer].kind);
  return pool && pool->kind == model::Pooling2D::Kind::max && pool->size == model::Window{2, 2} &&
         pool->strides == pool->size && extents[layer].height == 2 * extents[layer + 1].height &&
         extents[layer].width == 2 * extents[layer + 1].width;
}

}  // namespace sweetspot::engine::cuda
