#pragma once
#include <vector>

#include "engine/cpu/op.h"
#include "engine/extents.h"

namespace sweetspot::engine::cpu {

// A convolution with strides, or with a larger kernel than a filter's, as one without strides and
// of the filter's size. Its kernel is divided into parts: the taps that meet the same phase of the
// stride, at most as many as the filter has along each axis. Each part reads its own selection of
// the image's positions; the selections of all parts side by side are an image of as many times the
// channels, packed. A 5×5 kernel with stride 2 over 24 channels is a 3×3 kernel over 96, where the
// strided one computes 32 for each tap.
class KernelParts {
 public:
  KernelParts(const ConvGeometry& geometry, const Filter& filter);

  static std::int64_t count(const ConvGeometry& geometry, const Filter& filter);
  // Whether the image is read as it is: a kernel of the filter's size without strides.
  static bool trivial(const ConvGeometry& geometry, const Filter& filter);
  bool trivial() const { return trivial_; }
  // What the parts read together, with padding: one position for each that the first tap meets, and
  // those of the other taps.
  const Extent& image() const { return image_; }
  // Floats from one position of that image to the next. A part's last unit is stored whole, with
  // zeros where the next part begins, and so may exceed the last part's channels.
  std::int64_t position_floats() const { return position_floats_; }

  // Copies a sample into such an image, of `width` positions in a row. It is zeroed once before.
  void select(const Pass& pass, const float* sample, float* to, std::int64_t width) const;
  // The backward pass: a sample's gradient from that of such an image, of image() positions.
  void collect(const Pass& pass, const float* from, float* sample) const;

  // Of the taps of channel k, in a weight matrix of this width.
  TapRows taps(std::int64_t k, std::int64_t width) const {
    return {rows_.data() + k * taps_, width};
  }

 private:
  struct Part {
    std::int64_t line, column;  // of its first tap
  };
  // Positions of the image along one axis, [begin, end), that meet the sample, and where the first
  // one does.
  struct Span {
    std::int64_t begin, end, first;
  };
  static Span span(std::int64_t positions, std::int64_t size, std::int64_t stride,
                   std::int64_t offset);
  // Calls visit(offset in the image, offset in the sample, positions) for each row of a part.
  template <class Visit>
  void each_row(const Part& part, std::int64_t width, Visit visit) const;
  void make_rows(const Filter& filter);

  ConvGeometry g_;
  std::vector<Part> parts_;
  bool trivial_;
  bool overlaps_;  // a position of a sample may have several parts
  bool covers_;    // and each has one
  Extent image_;
  std::int64_t position_floats_, taps_;
  std::vector<std::int32_t> rows_;
};

}  // namespace sweetspot::engine::cpu
