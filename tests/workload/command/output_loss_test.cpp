// Losses in program output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/command/output/loss.h"
#include "workload/command/output/reader.h"

namespace sweetspot::workload::command::output {
namespace {

using testing::ElementsAre;
using trial::Loss;

TEST(LossIn, IsReadAsProgramsWriteIt) {
  for (const auto& [text, loss] : std::vector<std::pair<std::string_view, double>>{
           {"step 20/100 loss: 2.31 acc: 0.4", 2.31},
           {" 12%|█▏ | 24/200 [00:01<00:09, 17.64it/s, loss=0.5]", 0.5},
           {"24/200 ━━━━ 9s 52ms/step - accuracy: 0.9 - loss: 0.25", 0.25},
           {R"({"step": 20, "loss": 1.5e-3, "lr": 0.1})", 1.5e-3},
           {"{'loss': 11.2, 'grad_norm': 3.1}", 11.2},
           {"Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.298", 2.298},
           {"iter 20: loss 2.3000, time 12ms", 2.3},
           {"train_loss=-0.75, val_loss=9", -0.75},
           {"val_loss: 9.0 - loss: 3.0", 3.0},
           {"test loss 1, Loss (4.5)", 4.5}})
    EXPECT_EQ(loss_in(text), loss) << text;
}

TEST(LossIn, IsNothingElse) {
  for (const std::string_view text :
       {"step 20", "loss", "loss:", "loss: nan", "loss=inf", "val_loss: 2.3", "Validation loss 2.3",
        "eval/loss: 1.0", "glossy 3", "lossless 3", "loss 3/10", "loss 12ms", "loss: 2,31",
        "loss is high: 3"})
    EXPECT_EQ(loss_in(text), std::nullopt) << text;
}

TEST(LossCurve, KeepsStepsThatRunsOfAnyLengthHaveInCommon) {
  LossCurve curve;
  for (std::int64_t step = 1; step <= 137; ++step) curve.add(step, 1.0 / static_cast<double>(step));
  EXPECT_THAT(curve.losses(),
              ElementsAre(Loss{1, 1}, Loss{2, 0.5}, Loss{5, 0.2}, Loss{10, 0.1}, Loss{20, 0.05},
                          Loss{50, 0.02}, Loss{100, 0.01}, Loss{137, 1.0 / 137}));
}

TEST(LossCurve, WhatIsPrintedALittleAfterAStepStandsForIt) {
  LossCurve curve;
  curve.add(3, 3), curve.add(11, 2), curve.add(24, 1.5), curve.add(53, 1);
  EXPECT_THAT(curve.losses(), ElementsAre(Loss{10, 2}, Loss{50, 1}, Loss{53, 1}));
}

TEST(LossCurve, EndsWithTheFirstEpoch) {
  LossCurve curve;
  curve.add(10, 2), curve.add(10, 2.5), curve.add(20, 1), curve.add(5, 0.9), curve.add(50, 0.1);
  EXPECT_THAT(curve.losses(), ElementsAre(Loss{10, 2}, Loss{20, 1}));
  curve = {};
  curve.add(1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(curve.losses().empty());
}

TEST(Reader, TellsLossesBesideItsCounter) {
  Reader reader;
  for (int step = 1; step <= 4; ++step) {
    reader.feed("step " + std::to_string(10 * step) + "/100 loss: 0." + std::to_string(step) + "\n",
                step);
    reader.feed("validation loss: 9\n", step + 0.5);
  }
  const std::vector<LossAt> losses = reader.take_losses();
  ASSERT_GE(losses.size(), 3u);
  EXPECT_EQ(losses.back().count, 40);
  EXPECT_EQ(losses.back().loss, 0.4);
  EXPECT_TRUE(reader.take_losses().empty());
}

}  // namespace
}  // namespace sweetspot::workload::command::output
