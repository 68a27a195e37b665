#pragma once
#include "engine/cpu/ops/conv.h"

namespace sweetspot::engine::cpu {

// What a kernel reads at each output position of a sample, as rows of a matrix (positions, depth),
// with zeros outside the image.
class Patches {
 public:
  explicit Patches(const ConvGeometry& geometry) : g_(geometry) {}

  void fill(const float* image, float* patches) const;
  // The backward pass: adds each row where it was read.
  void add(const Pass& pass, const float* patches, float* image) const;

 private:
  // Calls visit(offset in the image's first plane or −1 outside it, offset in the patch).
  template <class Visit>
  void each_tap(std::int64_t position, Visit visit) const;

  ConvGeometry g_;
};

// Images of (units, positions, 16) as rows of (positions, columns), and back.
void image_to_rows(const Extent& extent, const float* image, float* rows);
void rows_to_image(const Extent& extent, const float* rows, float* image);

}  // namespace sweetspot::engine::cpu
