#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "workload/command/client/message.h"
#include "workload/command/output/reader.h"

namespace sweetspot::workload::command::output {
namespace {

using Metric = trial::Target::Metric;

std::optional<double> read(Metric metric, const std::string& line,
                           const std::optional<std::string>& regex = {}) {
  return MetricRegex(metric, regex).read(line);
}

TEST(MetricRegex, FindsTheUsualWaysToPrintOne) {
  const std::pair<const char*, double> accuracies[] = {
      {"epoch 3: val_accuracy: 0.9812 - val_loss: 0.1", 0.9812},
      {"Test Accuracy: 98.12%", 0.9812},
      {"test acc 97.5", 0.975},
      {"{\"eval_accuracy\": 0.25, \"epoch\": 1}", 0.25},
      {"validation/accuracy=1e-1", 0.1},
      {"[val] acc = 50 %", 0.5},
      {"Test set: Average loss: 0.0534, Accuracy: 9821/10000 (98%)", 0.98},
      {"Accuracy of the network on the 10000 test images: 97.1 %", 0.971},
      {"accuracy on test set: 97.1%", 0.971},
      {" * Acc@1 76.130 Acc@5 92.862", 0.7613}};
  for (const auto& [line, value] : accuracies) {
    const auto found = read(Metric::accuracy, line);
    ASSERT_TRUE(found) << line;
    EXPECT_NEAR(*found, value, 1e-12) << line;
  }
  EXPECT_EQ(read(Metric::loss, "accuracy 0.9 val_loss: 3.25"), 3.25);
  EXPECT_EQ(read(Metric::loss, "Test set: Average loss: 0.0534, Accuracy: 9821/10000"), 0.0534);
}

TEST(MetricRegex, LeavesTrainingAlone) {
  for (const char* line : {"step 20 loss 0.3 accuracy 0.99", "train_accuracy: 0.97", "val set", ""})
    EXPECT_FALSE(read(Metric::accuracy, line)) << line;
}

TEST(MetricRegex, OfTheUsersIsTheOnlyOne) {
  const std::string regex = "top-1 ([0-9.]+)";
  EXPECT_EQ(read(Metric::accuracy, "val_accuracy 0.1 top-1 75", regex), 0.75);
  EXPECT_FALSE(read(Metric::accuracy, "val_accuracy 0.1", regex));
  EXPECT_EQ(read(Metric::loss, "top-1 75", regex), 75);
  EXPECT_THROW(read(Metric::loss, "", "no group"), core::InputError);
  EXPECT_THROW(read(Metric::loss, "", "([0-9]+"), core::InputError);
}

TEST(MetricRegex, IsReadBesideTheSteps) {
  Reader reader;
  reader.look_for({Metric::accuracy, {}});
  double at = 0;
  for (int step = 1; step <= 10; ++step) {
    reader.feed("step " + std::to_string(step) + " loss 0.5\n", at += 0.1);
    if (step % 5 == 0) reader.feed("val_acc: 0." + std::to_string(step + 80) + "\n", at += 0.1);
  }
  EXPECT_THAT(reader.take_metrics(), testing::ElementsAre(0.85, 0.90));
  EXPECT_TRUE(reader.take_metrics().empty());
  EXPECT_FALSE(reader.take().empty());
}

TEST(ClientMetric, HasWhatWasTold) {
  const auto told = client::parse(R"({"type":"metric","accuracy":0.5,"at_seconds":1})");
  const auto* metric = std::get_if<client::Metric>(&told.value());
  ASSERT_TRUE(metric);
  EXPECT_EQ(metric->accuracy, 0.5);
  EXPECT_FALSE(metric->loss);
  EXPECT_FALSE(client::parse(R"({"type":"metric","accuracy":"high"})"));
}

}  // namespace
}  // namespace sweetspot::workload::command::output
