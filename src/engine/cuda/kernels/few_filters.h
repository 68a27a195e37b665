#pragma once
#include "engine/cuda/kernels/patches.h"

namespace sweetspot::engine::cuda {

constexpr int most_few_filters = 8;

// The input gradient of a convolution with few filters and without strides (few_filters_data.cu).
struct FewFiltersData {
  ConvShape shape;  // swapped: its channels are those filters
  int channels;     // without padding
  int count;        // samples
  bool fp32;        // no operand is rounded
  Patches patches;
  const float *gradient, *weights;
  const std::uint8_t* code;  // null: all gradients pass
  float scale;               // of the input's dropout
  Function input_function;   // of the input, as in GemmPart
  const float* input;
  float* input_gradient;
  ValueTerms input_gradient_terms;
};
bool few_filters_data_support(const ConvShape& shape, int filters, bool fp32);
FewFiltersData few_filters_data_part(const ConvShape& shape, int filters, int count, bool fp32);
// Expected, of a multiprocessor.
double few_filters_data_clocks(const FewFiltersData& part, int multiprocessors);
cudaError_t launch_few_filters_data(const FewFiltersData& part, cudaStream_t stream);

// The weight gradient from the pixels of patches (patch_weights.cu): of a convolution with few
// filters, where `shape` is `swapped` and what is read of input and output changes places, or of
// one of few channels, many taps and few filters.
struct PatchWeights {
  ConvShape shape;
  int channels, positions;  // without padding; of all samples
  Divider by_out;
  bool fp32;                          // no operand is rounded
  bool swapped;                       // few filters
  int tiles, row_blocks, block_rows;  // blocks for all rows and filters; those of the rows
  int parts, groups;                  // of a block's warps: those of its rows, and of its positions
  int splits, share;                  // of the patches
  Patches patches;
  const float *input, *gradient;
  const std::uint8_t* code;  // null: all gradients pass
  float* partials;
  std::int64_t partial_stride;
  bool bias;
  StepState* state;  // set if the gradient is not finite
};
bool few_filters_weights_support(const ConvShape& shape, int filters);
PatchWeights few_filters_weights_part(const ConvShape& shape, int filters, int count,
                                      int multiprocessors, bool fp32);
// Of few channels, and whether it pays.
bool narrow_weights_pay(const ConvShape& shape, int channels, int count, int multiprocessors);
PatchWeights narrow_weights_part(const ConvShape& shape, int channels, int count,
                                 int multiprocessors, bool fp32);
// What the smaller count of a batch's last samples has for each of `splits`.
void divide_among(PatchWeights& part, int splits);
// Expected, of a multiprocessor.
double patch_weights_clocks(const PatchWeights& part, int multiprocessors);
cudaError_t launch_patch_weights(const PatchWeights& part, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
