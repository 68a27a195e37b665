#include "workload/native/end_point.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workload/native/feed.h"
#include "workload/native/train.h"

namespace sweetspot::workload::native {
namespace {

Options of_model(const std::string& model, const std::string& data) {
  Options options;
  options.model = model, options.data = data;
  options.pipeline.batch = 50, options.epochs = 1;
  return options;
}

// By power iteration on the matrix itself, far longer than needed.
double largest_eigenvalue(const std::vector<std::vector<double>>& matrix) {
  std::vector<double> v(matrix.size(), 1);
  double length = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::vector<double> next(v.size(), 0);
    for (std::size_t r = 0; r < v.size(); ++r)
      for (std::size_t c = 0; c < v.size(); ++c) next[r] += matrix[r][c] * v[c];
    length = 0;
    for (const double x : next) length += x * x;
    length = std::sqrt(length);
    for (std::size_t r = 0; r < v.size(); ++r) v[r] = next[r] / length;
  }
  return length;
}

// (w·x + b − y)², averaged: its Hessian is twice the second moment of (x, 1), at any weights.
TEST(EndPoint, SharpnessOfLinearRegressionIsThatOfTheSecondMoment) {
  Options options = of_model("linear", "synthetic:3000");
  native::Run run = open(options, [](std::string_view) {});
  // Correlated inputs of very different size, so that one direction is by far the steepest.
  const auto size = static_cast<std::size_t>(run.dataset.train.sample_size());
  for (std::size_t i = 0; i < run.dataset.train.count; ++i) {
    float* x = &run.dataset.train.floats[i * size];
    for (std::size_t f = 0; f < size; ++f)
      x[f] = 0.3f * static_cast<float>(f) * x[f] + 0.5f * x[0] + 0.2f;
  }
  const std::atomic<int> stop{0};
  data::Pipeline samples(run.dataset.train, end_point_pipeline(run.dataset.train));
  const auto trainer = make_trainer(run, options);
  const auto found = end_point(*trainer, samples, stop);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->samples, 2048);
  EXPECT_TRUE(found->converged);

  data::Pipeline again(run.dataset.train, end_point_pipeline(run.dataset.train));
  data::Batch batch;
  again.start_epoch(0);
  ASSERT_TRUE(again.next(batch));
  std::vector<std::vector<double>> hessian(size + 1, std::vector<double>(size + 1, 0));
  for (std::int64_t i = 0; i < batch.count; ++i) {
    std::vector<double> x(&batch.inputs[static_cast<std::size_t>(i) * size],
                          &batch.inputs[static_cast<std::size_t>(i) * size] + size);
    x.push_back(1);
    for (std::size_t r = 0; r <= size; ++r)
      for (std::size_t c = 0; c <= size; ++c)
        hessian[r][c] += 2 * x[r] * x[c] / static_cast<double>(batch.count);
  }
  const double exact = largest_eigenvalue(hessian);
  EXPECT_NEAR(found->sharpness, exact, 0.05 * exact);
}

TEST(EndPoint, LeavesTheWeightsAsTheyAreAndRepeats) {
  const Options options = of_model("mlp", "synthetic:300");
  const native::Run run = open(options, [](std::string_view) {});
  const auto trainer = make_trainer(run, options);
  const auto before = trainer->variables();
  const std::atomic<int> stop{0};
  const auto look = [&] {
    data::Pipeline samples(run.dataset.train, end_point_pipeline(run.dataset.train));
    return end_point(*trainer, samples, stop);
  };
  const auto first = look(), second = look();
  ASSERT_TRUE(first && second);
  EXPECT_GT(first->sharpness, 0);
  EXPECT_EQ(first->sharpness, second->sharpness);
  const auto after = trainer->variables();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].values, before[i].values);
  std::atomic<int> stopped{1};
  data::Pipeline samples(run.dataset.train, end_point_pipeline(run.dataset.train));
  EXPECT_FALSE(end_point(*trainer, samples, stopped));
}

TEST(EndPoint, IsPartOfARunThatAsksForItWithItsMemoryToTheByte) {
  Options options = of_model("mlp", "synthetic:300");
  options.sharpness = true;
  for (const bool evaluates : {true, false}) {
    options.evaluate = evaluates;
    Observer quiet;
    const std::atomic<int> stop{0};
    const Result result = train(open(options, [](std::string_view) {}), quiet, stop);
    ASSERT_TRUE(result.end_point);
    EXPECT_EQ(result.end_point->samples, 300) << "all there are";
    EXPECT_EQ(result.measured, result.predicted);
  }
}

}  // namespace
}  // namespace sweetspot::workload::native
