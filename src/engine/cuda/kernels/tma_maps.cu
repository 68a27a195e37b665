#include "engine/cuda/kernels/loaders.cuh"
#include "engine/cuda/kernels/tma_product.h"

// Descriptions of operands for the tensor memory accelerator: lines of 128 or 64 bytes, swizzled as
// wgmma.cuh reads them.
namespace sweetspot::engine::cuda {
namespace {

// The driver's functions are looked up at run time: the program starts where there is no driver.
template <class Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned since = 12000;
  if (cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &result) !=
          cudaSuccess ||
      result != cudaDriverEntryPointSuccess)
    return nullptr;
  return reinterpret_cast<Function>(found);
}

struct Maker {
  CUtensorMapDataType type;

  cudaError_t boxes(CUtensorMap& map, const void* from, int rank, const cuuint64_t* extents,
                    const cuuint32_t* box) const {
    static const auto encode =
        driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    if (!encode) return cudaErrorNotSupported;
    cuuint64_t strides[4];  // in bytes, from the second dimension on
    stride_bytes(rank, extents, strides);
    constexpr cuuint32_t every[5] = {1, 1, 1, 1, 1};
    return outcome(encode(&map, type, static_cast<cuuint32_t>(rank), const_cast<void*>(from),
                          extents, strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
                          swizzle(box[0]), CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  }
  // Lines of channels of (channels, width, height, samples); the positions visited lie between the
  // corners, which are relative to the first and to the last position of the image.
  cudaError_t patches(CUtensorMap& map, const void* from, const cuuint64_t (&extents)[4],
                      const int (&lower)[2], const int (&upper)[2], const ConvShape& strided,
                      int line, int rows) const {
    static const auto encode =
        driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
    if (!encode) return cudaErrorNotSupported;
    cuuint64_t strides[4];
    stride_bytes(4, extents, strides);
    const cuuint32_t every[4] = {1, static_cast<cuuint32_t>(strided.stride_w),
                                 static_cast<cuuint32_t>(strided.stride_h), 1};
    return outcome(encode(&map, type, 4, const_cast<void*>(from), extents, strides, lower, upper,
                          static_cast<cuuint32_t>(line), static_cast<cuuint32_t>(rows), every,
                          CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle(line),
                          CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  }

 private:
  static CUtensorMapSwizzle swizzle(std::int64_t line) {
    return line == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  }
  static void stride_bytes(int rank, const cuuint64_t* extents, cuuint64_t* strides) {
    cuuint64_t bytes = sizeof(std::uint16_t);
    for (int i = 0; i + 1 < rank; ++i) strides[i] = bytes *= extents[i];
  }
  static cudaError_t outcome(CUresult result) {
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
  }
};

// The corners of what a product's rows visit, before the taps' offsets: (x, y).
struct Corners {
  int lower[2], upper[2];
  bool supported() const {
    for (const int corner : {lower[0], lower[1], upper[0], upper[1]})
      if (corner < -128 || corner > 127) return false;
    return true;
  }
};
Corners input_corners(const ConvShape& s) {
  const int lower[2] = {-s.pad_left, -s.pad_top};
  return {{lower[0], lower[1]},
          {(s.out_w - 1) * s.stride_w + lower[0] - (s.in_w - 1),
           (s.out_h - 1) * s.stride_h + lower[1] - (s.in_h - 1)}};
}
Corners gradient_corners(const ConvShape& s, const Phase& phase, int width, int height) {
  const int lower[2] = {phase.first_x - (phase.taps_x - 1), phase.first_y - (phase.taps_y - 1)};
  return {{lower[0], lower[1]},
          {width - 1 + lower[0] - (s.out_w - 1), height - 1 + lower[1] - (s.out_h - 1)}};
}

bool is_flat(const ConvShape& s) {
  return s.kernel_h == 1 && s.kernel_w == 1 && s.in_h == s.out_h && s.in_w == s.out_w &&
         s.pad_top == 0 && s.pad_left == 0;
}

cuuint64_t wide(std::int64_t n) { return static_cast<cuuint64_t>(n); }

}  // namespace

bool tma_supports(const ConvShape& s, GemmKind kind, Math math) {
  if (packed_terms(math) > most_tma_terms) return false;
  constexpr int most_stride = 8, most_taps = 256;
  if (s.stride_h > most_stride || s.stride_w > most_stride || s.kernel_h > most_taps ||
      s.kernel_w > most_taps)
    return false;
  if (kind == GemmKind::forward && s.pool != 1) return false;
  // A panel that is filled in part costs as much as a whole one: the threads' copies are faster.
  if (kind == GemmKind::weights && 4 * s.channels < 3 * tma_panel * panels_of_tap(s.channels))
    return false;
  if (kind == GemmKind::data) {
    if (s.stride_h * s.stride_w > most_tma_phases) return false;
    // Strides divide what the largest phase visits; its taps may lie before the first position.
    return s.kernel_h <= 100 && s.kernel_w <= 100;
  }
  return is_flat(s) || input_corners(s).supported();
}

cudaError_t map_operands(TmaProduct& product, int columns, int terms, bool fp16) {
  const GemmPart& p = product.part;
  const ConvShape& s = p.shape;
  const Maker make{fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16};
  const int depth = p.stage_depth;
  product.flat = is_flat(s);
  const auto* kernel = static_cast<const std::uint16_t*>(p.operands);
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  const cuuint64_t input[4] = {wide(s.channels), wide(s.in_w), wide(s.in_h), wide(p.count)};
  const cuuint64_t gradient[4] = {wide(s.filters), wide(s.out_w), wide(s.out_h), wide(p.count)};
  const std::int64_t positions = std::int64_t{p.count} * s.out_h * s.out_w;
  cudaError_t error = cudaSuccess;
  const auto add = [&](cudaError_t e) { error = error == cudaSuccess ? e : error; };
  for (int t = 0; t < terms; ++t) {
    const auto matrix = [&](CUtensorMap& map, const std::uint16_t* from, std::int64_t width,
                            std::int64_t height, int line, int rows) {
      const cuuint64_t extents[2] = {wide(width), wide(height)};
      const cuuint32_t box[2] = {static_cast<cuuint32_t>(line), static_cast<cuuint32_t>(rows)};
      add(make.boxes(map, from, 2, extents, box));
    };
    const std::uint16_t* const patches = p.packed_input + t * p.input_term;
    const std::uint16_t* const slopes = p.packed_gradient + t * p.gradient_term;
    if (p.kind == GemmKind::data) {
      for (int i = 0; i < p.phases; ++i) {
        CUtensorMap& map = product.left[i * most_tma_terms + t];
        const Phase phase(p, i);
        if (phase.taps_y * phase.taps_x == 0) continue;  // nothing is read
        if (product.flat) {
          matrix(map, slopes, s.filters, positions, depth, packed_rows);
          continue;
        }
        const int width = static_cast<int>(p.by_in_w.divisor);
        const Corners at =
            gradient_corners(s, phase, width, static_cast<int>(p.by_in.divisor) / width);
        ConvShape whole{};  // without strides
        add(make.patches(map, slopes, gradient, at.lower, at.upper, whole, depth, packed_rows));
      }
      const cuuint64_t extents[3] = {wide(s.filters), wide(s.channels), wide(taps)};
      const cuuint32_t box[3] = {static_cast<cuuint32_t>(depth), static_cast<cuuint32_t>(columns),
                                 1};
      add(make.boxes(product.right[t], kernel + t * p.operand_term, 3, extents, box));
      continue;
    }
    const bool forward = p.kind == GemmKind::forward;
    const int line = forward ? depth : tma_panel, rows = forward ? packed_rows : depth;
    if (product.flat) {
      matrix(product.left[t], patches, s.channels, positions, line, rows);
    } else {
      const Corners at = input_corners(s);
      add(make.patches(product.left[t], patches, input, at.lower, at.upper, s, line, rows));
    }
    if (forward)
      matrix(product.right[t], kernel + t * p.operand_term, s.filters, taps * s.channels, tma_panel,
             depth);
    else
      matrix(product.right[t], slopes, s.filters, positions, tma_panel, depth);
  }
  return error;
}

}  // namespace sweetspot::engine::cuda
