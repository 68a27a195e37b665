#pragma once
#include <vector>

#include "engine/cpu/ops/conv.h"

namespace sweetspot::engine::cpu {

// Every output position, row by row.
std::vector<std::int32_t> row_major(const Extent& out);
// The same window by window, so that pooling reads consecutive rows.
std::vector<std::int32_t> window_major(const ConvGeometry& geometry);
// Rows whose patches fit half an L1 cache; all rows for a convolution that gathers none.
std::int64_t rows_at_once(const ConvGeometry& geometry);

// How a convolution reads its input: as rows, one per output position in the order the caller
// gives, and segments, one per unit and kernel row. A padded input is copied into a frame of zeros,
// a batch that is to be rescaled into one too, and one of few channels is compacted; any other is
// read in place.
class ConvInput {
 public:
  // Scratch memory, if the input is compact.
  struct Memory {
    float *frame, *patches;
  };

  // `rows_at_once`: of patches. `positions`: output positions as y · out.width + x, in the order of
  // the rows.
  ConvInput(const ConvGeometry& geometry, const std::vector<std::int32_t>& positions,
            std::int64_t rows_at_once);

  core::Bytes scratch_bytes() const;  // zeroed once, before the first use

  // Copies the sample into the frame, if it needs one; returns the first unit's plane.
  const float* frame(const float* sample, std::byte* scratch) const;
  // Sets the multiplication's left side to rows [first, first + rows) of a frame.
  template <class Operand>
  void point(Product<Operand>& multiply, const Operand* frame, std::int64_t first,
             std::int64_t rows) const {
    multiply.a = frame, multiply.rows = rows;
    multiply.row_offsets = row_offsets_.data() + first;
    multiply.segment_offsets = segment_offsets_.data();
    multiply.segments = segments(), multiply.run = g_.kernel.width * channels_;
  }
  // A bf16 frame has space for one number after its last, which an odd run reads.
  std::int64_t frame_numbers() const { return planes() * frame_plane(); }
  core::Bytes rounded_bytes() const {
    return static_cast<core::Bytes>(frame_numbers() + unit) * sizeof(Bf16);
  }
  // The weights in pairs, segment by segment, for products over such a frame.
  std::int64_t rounded_depth() const {
    return segments() * round_up(g_.kernel.width * channels_, 2);
  }
  void round_weights(const Pass& pass, Bf16* to, int part, int parts) const;
  // The rows of a compact frame, (rows, depth): what a kernel reads, its lines contiguous.
  float* patches(const float* frame, std::byte* scratch, std::int64_t first,
                 std::int64_t rows) const;

  // The backward pass from rows of a compact input: patches are added to the frame they were read
  // from, and the frame's image, with bias and activation, is expanded into units.
  Memory memory(std::byte* scratch) const;
  void add_patches(const Pass& pass, const float* patches, std::int64_t first, std::int64_t rows,
                   float* frame) const;
  void unframe(const float* frame, const Finish& finish, float* image) const;

  bool framed() const { return framed_; }
  std::int64_t frame_width() const { return width_; }
  std::int64_t frame_plane() const { return height_ * width_ * channels_; }
  // Of the first tap of this row, in floats.
  std::int32_t offset(std::int64_t row) const {
    return row_offsets_[static_cast<std::size_t>(row)];
  }
  const std::int32_t* row_offsets() const { return row_offsets_.data(); }
  const std::vector<std::int32_t>& segment_offsets() const { return segment_offsets_; }

 private:
  template <int fixed_run>
  void gather_run(const float* frame, float* to, std::int64_t first, std::int64_t rows,
                  std::int64_t run) const;
  template <int fixed_run>
  void gather(const float* frame, float* to, std::int64_t first, std::int64_t rows,
              std::int64_t run) const;
  core::Bytes frame_bytes() const;
  std::int64_t segments() const { return static_cast<std::int64_t>(segment_offsets_.size()); }
  bool rescales() const { return g_.scale != 1 || g_.shift != 0; }
  std::int64_t planes() const { return g_.compact ? 1 : g_.in.units(); }

  ConvGeometry g_;
  std::vector<std::int32_t> row_offsets_, segment_offsets_;
  std::int64_t rows_at_once_;
  std::int64_t channels_;        // floats from one position to the next
  std::int64_t height_, width_;  // of the frame
  bool framed_;
};

}  // namespace sweetspot::engine::cpu
