#include "engine/cpu/ops/conv_matrix.h"

#include <algorithm>

#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Rows that use a panel of weights several times while it is in cache.
constexpr std::int64_t enough_rows = 48;
// Weights that leave little of an L2 cache.
constexpr std::int64_t large_weights = 128 * 1024;

}  // namespace

bool ConvMatrix::fits(const ConvGeometry& g, std::int64_t micro_batch) {
  return !g.compact && micro_batch > 1 && 2 * g.out.positions() <= enough_rows &&
         g.depth() * g.columns() >= large_weights;
}

ConvMatrix::ConvMatrix(const ConvGeometry& geometry, std::int64_t micro_batch)
    : g_(geometry),
      patches_(g_),
      samples_(std::min(enough_rows / g_.out.positions(), micro_batch)) {
  const std::int64_t most_rows = samples_ * g_.out.positions();
  ScratchLayout working;
  patches_at_ = working.add_floats(most_rows * g_.depth());
  outputs_at_ = working.add_floats(most_rows * g_.columns());
  working_bytes_ = working.size();
}

void ConvMatrix::fill_patches(const ConvImages& images, float* patches) const {
  for (std::int64_t s = images.samples.begin; s < images.samples.end; ++s)
    patches_.fill(images.pass.at(images.from, s, images.thread),
                  patches + (s - images.samples.begin) * g_.out.positions() * g_.depth());
}

void ConvMatrix::fill_gradients(const ConvImages& images, const Allocation& allocation,
                                float* gradients) const {
  for (std::int64_t s = images.samples.begin; s < images.samples.end; ++s)
    image_to_rows(g_.out, images.pass.at(allocation, s, images.thread),
                  gradients + (s - images.samples.begin) * g_.out.floats());
}

void ConvMatrix::forward(const ConvImages& images, std::byte* working) const {
  const Pass& pass = images.pass;
  auto* patches = reinterpret_cast<float*>(working + patches_at_);
  auto* outputs = reinterpret_cast<float*>(working + outputs_at_);
  fill_patches(images, patches);
  Multiply m{};
  m.a = patches, m.row_stride = g_.depth(), m.rows = rows(images);
  m.segments = 1, m.run = g_.depth();
  m.relu = g_.relu, m.c_row_stride = g_.columns(), m.c_unit_stride = unit;
  for (std::int64_t n = 0; n < g_.columns(); n += panel) {
    m.b = pass.weights + g_.weights + n * g_.depth();
    m.width = std::min(panel, g_.columns() - n);
    m.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
    m.c = outputs + n;
    pass.kernels->multiply(m);
  }
  for (std::int64_t s = images.samples.begin; s < images.samples.end; ++s)
    rows_to_image(g_.out, outputs + (s - images.samples.begin) * g_.out.floats(),
                  pass.at(images.to, s, images.thread));
}

void ConvMatrix::add_weights(const ConvImages& images, std::byte* working, float* slot) const {
  auto* patches = reinterpret_cast<float*>(working + patches_at_);
  auto* gradients = reinterpret_cast<float*>(working + outputs_at_);
  fill_patches(images, patches);
  fill_gradients(images, images.to, gradients);
  Outer o{};
  o.a = patches, o.row_stride = g_.depth(), o.rows = rows(images), o.depth = g_.depth();
  o.g_row_stride = g_.columns(), o.g_unit_stride = unit, o.accumulate = true;
  for (std::int64_t n = 0; n < g_.columns(); n += panel) {
    o.g = gradients + n;
    o.width = std::min(panel, g_.columns() - n);
    o.d = slot + n * g_.depth();
    images.pass.kernels->outer(o);
  }
}

// Fills an image with the bias.
void ConvMatrix::fill_with(const float* bias, float* to) const {
  for (std::int64_t u = 0; u < g_.in.units(); ++u)
    for (std::int64_t p = 0; p < g_.in.positions(); ++p, to += unit)
      std::copy_n(bias + u * unit, unit, to);
}

void ConvMatrix::backward(const ConvImages& images, const float* transposed, std::byte* working,
                          const Finish& finish) const {
  const Pass& pass = images.pass;
  auto* patches = reinterpret_cast<float*>(working + patches_at_);
  auto* gradients = reinterpret_cast<float*>(working + outputs_at_);
  fill_gradients(images, images.from, gradients);
  Multiply m{};
  m.a = gradients, m.row_stride = g_.columns(), m.rows = rows(images);
  m.segments = 1, m.run = g_.columns();
  m.c_row_stride = g_.depth(), m.c_unit_stride = unit;
  for (std::int64_t k = 0; k < g_.depth(); k += panel) {
    m.b = transposed + k * g_.columns();
    m.width = std::min(panel, g_.depth() - k);
    m.c = patches + k;
    pass.kernels->multiply(m);
  }
  for (std::int64_t s = images.samples.begin; s < images.samples.end; ++s) {
    float* to = pass.at(images.to, s, images.thread);
    if (finish.bias)
      fill_with(finish.bias, to);
    else
      std::fill_n(to, g_.in.floats(), 0.f);
    patches_.add(pass, patches + (s - images.samples.begin) * g_.out.positions() * g_.depth(), to);
    if (finish.relu) pass.kernels->activate(Function::relu, to, g_.in.floats(), to);
  }
}

}  // namespace sweetspot::engine::cpu
