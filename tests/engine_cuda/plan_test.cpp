#ifdef SWEETSPOT_HAS_CUDA
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/cuda/compiled_plan.h"
#include "model/keras.h"

// What a plan chooses for an H200, which needs no GPU.
namespace sweetspot::engine::cuda {
namespace {

// Slices of a gradient are added on chip only, where in fp32 one block per sample is far slower
// than products that divide it: a step of 32 samples took more than twice one of 16.
TEST(CudaPlan, SlicesGradientsOnlyForProductsThatAreOnChipAnyway) {
  const model::Network network = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "on-chip", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 14, 14, 64]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 64, "kernel_size": 3, "activation": "relu"}},
  {"class_name": "MaxPooling2D", "config": {"name": "b", "pool_size": 2}},
  {"class_name": "Flatten", "config": {"name": "c"}},
  {"class_name": "Dense", "config": {"name": "d", "units": 512, "activation": "relu"}},
  {"class_name": "Dense", "config": {"name": "e", "units": 10, "activation": "softmax"}}]}})",
      "on-chip");
  const auto slices = [&](std::int64_t batch, Math math) {
    int most = 1;
    const Program program =
        compile(network, model::natural_loss(network), batch, true, math, Chip{});
    for (const auto& tensor : program.tensors) most = std::max(most, tensor->gradient_slices);
    return most;
  };
  for (const std::int64_t batch : {17, 24, 32}) {
    EXPECT_EQ(slices(batch, Math::fp32), 1) << batch;
    EXPECT_GT(slices(batch, Math::bf16), 1) << batch;
  }
}

}  // namespace
}  // namespace sweetspot::engine::cuda
#endif
