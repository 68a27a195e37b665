#pragma once
#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "engine/golden.h"
#include "engine/near.h"
#include "gpu.h"

// Requirements for kernels that are chosen by size: micro-batches are too small for them, so a
// batch in parts is trained by the kernels that the golden values verify.
namespace sweetspot::engine::testing {

struct BySize {
  const char* word;                  // of the operations that such kernels run
  std::int64_t whole = 0, part = 0;  // a batch that they are chosen for, and one that they are not
  int least = 1;                     // operations of the batch

  int count(const model::Network& network, const cuda::Options& options, std::int64_t batch) const {
    return operations_with(word, *cuda::plan(network, options, batch, false));
  }
};

inline void expect_the_cpus_gradients(const model::Network& network, std::int64_t size, double near,
                                      const cuda::Options& options = {}) {
  const auto gpu = cuda::make_trainer(network, options);
  const auto cpu = cpu::make_trainer(network, {});
  const GoldenBatch batch(network, true, size, 0);
  const double expected = cpu->accumulate(batch.view(), size).loss;
  EXPECT_NEAR(gpu->accumulate(batch.view(), size).loss, expected, near * expected);
  expect_near(gpu->gradients(), cpu->gradients(), near);
}

// In fp32, and of the smooth network in the others.
inline void expect_the_cpus_gradients_in_every_precision(const model::Network& network,
                                                         std::int64_t size) {
  expect_the_cpus_gradients(network, size, 2e-3);
  const model::Network smooth = without_edges(network, model::Activation::tanh);
  cuda::Options options;
  for (const auto precision :
       {cuda::Precision::tf32, cuda::Precision::bf16, cuda::Precision::fp16}) {
    SCOPED_TRACE(cuda::name(precision));
    options.precision = precision;
    expect_the_cpus_gradients(smooth, size, precision == cuda::Precision::bf16 ? 0.1 : 2e-2,
                              options);
  }
}

inline void expect_gradients_of_parts(const model::Network& network, const cuda::Options& options,
                                      const BySize& kernels, double near) {
  EXPECT_GE(kernels.count(network, options, kernels.whole), kernels.least);
  EXPECT_EQ(kernels.count(network, options, kernels.part), 0);
  const auto at_once = cuda::make_trainer(network, options),
             in_parts = cuda::make_trainer(network, options);
  for (const std::int64_t size : {kernels.whole, kernels.whole - 7}) {  // the second fills no tile
    const GoldenBatch batch(network, true, size, 0);
    const double expected = in_parts->accumulate(batch.view(), kernels.part).loss;
    EXPECT_NEAR(at_once->accumulate(batch.view(), kernels.whole).loss, expected, near * expected);
    expect_near(at_once->gradients(), in_parts->gradients(), near);
  }
}

inline void expect_the_same_bit_for_bit(const model::Network& network, const cuda::Options& options,
                                        std::int64_t size, bool evaluates) {
  const auto one = cuda::make_trainer(network, options),
             other = cuda::make_trainer(network, options);
  const GoldenBatch batch(network, true, size, 0);
  for (int step = 0; step < 3; ++step)
    one->step(batch.view(), size), other->step(batch.view(), size);
  const std::vector<Variable> a = one->variables(), b = other->variables();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i].values, b[i].values) << a[i].parameter.name;
  if (evaluates) {
    EXPECT_EQ(one->evaluate(batch.view()).loss, other->evaluate(batch.view()).loss);
  }
  EXPECT_EQ(one->memory(), cuda::plan(network, options, size, evaluates)->memory());
}

}  // namespace sweetspot::engine::testing
