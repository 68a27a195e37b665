#pragma once
#include <optional>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/kernel_parts.h"

namespace sweetspot::engine::cpu {

// A convolution by Winograd (minimal filtering), forward and both gradients: tiles of m × m
// outputs, or of 1 × m, are transformed, multiplied point by point, and transformed back. One with
// strides, or with a larger kernel than a filter's, goes through its parts. The tiles of several
// samples are multiplied together, so that small images do not read large weights for a few rows.
class MinimalFiltering {
 public:
  // The best one for this micro-batch, if any pays.
  static std::optional<Filter> best(const ConvGeometry& geometry, std::int64_t micro_batch);

  MinimalFiltering(const ConvGeometry& geometry, const Filter& filter, std::int64_t micro_batch);

  // Samples that fill the matrix kernels.
  std::int64_t samples_at_once() const { return samples_; }
  std::int64_t weight_floats() const { return forward_.weight_floats() + back_.weight_floats(); }
  core::Bytes kept_bytes() const { return kept_bytes_; }  // zeroed once, before the first use
  core::Bytes working_bytes() const { return working_bytes_; }
  // A thread's memory of both kinds.
  struct Memory {
    std::byte *kept, *working;
  };

  // Transforms the weights, and flipped ones for the input gradient.
  void transform_weights(const Pass& pass, float* to, int part, int parts) const;
  void transform_flipped(const Pass& pass, float* to, int part, int parts) const;

  void forward(const ConvImages& images, const float* weights, const Memory& memory) const;
  // From the output's gradient to the input's.
  void backward(const ConvImages& images, const float* weights, const Memory& memory) const;

  // Adds a slot's weight gradients to its taps, once all its parts have been added.
  void add_weights(const ConvImages& input_and_gradient, const SlotPart& part, const Memory& memory,
                   float* slot) const;

 private:
  // A convolution of a framed image of `in` channels into `out` ones.
  struct Way {
    Extent in, out;
    std::int64_t top, left;               // the image's position in its frame
    std::int64_t lead_line, lead_column;  // where the first tile begins in it
    std::int64_t height, width;           // of the frame
    std::int64_t column_stride;           // floats from one of its positions to the next,
    std::int64_t unit_stride;             // and from one unit of channels
    Filter filter;
    std::int64_t down, across;  // tiles of the output

    std::int64_t tiles() const { return down * across; }
    std::int64_t depth() const { return in.units() * unit; }
    std::int64_t columns() const { return out.units() * unit; }
    std::int64_t weight_floats() const;
    std::int64_t frame_floats() const { return height * width * std::max(column_stride, depth()); }
    std::int64_t line_stride() const { return width * column_stride; }
    // A tile's first output.
    std::int64_t line(std::int64_t t) const { return t / across * filter.tile_lines(); }
    std::int64_t column(std::int64_t t) const { return t % across * filter.tile; }
    // Its first input in the frame's first unit.
    std::int64_t corner(std::int64_t t) const {
      return (lead_line + line(t)) * line_stride() + (lead_column + column(t)) * column_stride;
    }
  };
  Way make_way(bool back) const;
  // The weight gradients' points of `rows` tiles, for input channels [k, k + depth) and a panel.
  struct Sums {
    std::int64_t rows, k, depth, column;
    float* to;
    std::int64_t row_stride, point_stride;
    bool accumulate;
  };
  void sum_points(const Pass& pass, const Memory& memory, const Sums& sums) const;
  void add_taps(const Pass& pass, const Sums& sums, float* slot) const;
  void transform_rows(const ConvImages& images, std::int64_t first, std::int64_t rows,
                      const Memory& memory, std::int64_t& framed) const;
  void fill_frame(const Pass& pass, const Way& way, const float* image, float* frame) const;
  void transform_tile(const Pass& pass, const Way& way, std::int64_t tile, const float* frame,
                      float* to) const;
  // Where outputs go.
  struct Outputs {
    float* first;
    std::int64_t unit_stride, column_stride;
  };
  void finish_tile(const Pass& pass, const Way& way, std::int64_t tile, const float* points,
                   const Finish& finish, const Outputs& to) const;
  void convolve(const Way& way, const ConvImages& images, const float* weights,
                const Finish& finish, const Memory& memory) const;
  // Output channel n of the weight matrix, or of one like it, in the first row.
  std::int64_t column_offset(std::int64_t n) const;
  void flip_taps(const Pass& pass, std::int64_t n, std::int64_t k, float* to) const;

  ConvGeometry g_;
  Filter filter_;
  KernelParts parts_;
  Way forward_, back_;
  std::int64_t samples_, rows_;  // rows multiplied at once
  bool keeps_sums_;  // of a slot in points, until its end; else each chunk goes to the taps
  core::Bytes frame_at_, gradient_frame_at_, sums_at_, kept_bytes_;
  core::Bytes inputs_at_, products_at_, chunk_at_, selected_at_, working_bytes_;
};

}  // namespace sweetspot::engine::cpu
