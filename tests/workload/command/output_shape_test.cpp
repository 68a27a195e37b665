// A line of a known shape gives the same result as any other.
#include <gtest/gtest.h>

#include <random>

#include "workload/command/output/log_lines.h"

namespace sweetspot::workload::command::output {

bool operator==(const LineCounter& a, const LineCounter& b) {
  return a.counts == b.counts && a.count == b.count && a.total == b.total &&
         a.identity == b.identity && a.weight_updates == b.weight_updates;
}

namespace {

void expect_same(const LogLine& read, const LogLine& known, const std::string& text) {
  ASSERT_EQ(read.size, known.size) << text;
  for (std::size_t at = 0; at < read.size; ++at) EXPECT_TRUE(read.all[at] == known.all[at]) << text;
  EXPECT_EQ(read.epoch, known.epoch) << text;
  EXPECT_EQ(read.evaluation, known.evaluation) << text;
  EXPECT_EQ(read.evaluation_metrics, known.evaluation_metrics) << text;
  EXPECT_EQ(read.training_metrics, known.training_metrics) << text;
  EXPECT_EQ(read.evaluates, known.evaluates) << text;
  EXPECT_EQ(read.prepares, known.prepares) << text;
  EXPECT_EQ(read.trains, known.trains) << text;
  EXPECT_EQ(read.saves, known.saves) << text;
  EXPECT_EQ(read.environment, known.environment) << text;
}

TEST(LineShape, ReadsWhatAParseReads) {
  const std::vector<std::string> kinds = {
      "2026-01-01 10:00:00,123 INFO train: epoch=1 step=20 loss=0.3100 lr=0.001 time=0.123",
      "{\"step\": 20, \"loss\": 0.31, \"lr\": 1e-3, \"epoch\": 1}",
      "Epoch: [0][  10/5005]\tTime  0.500 ( 0.600)\tLoss 6.9e+00 (6.9e+00)",
      "[rank 1] Epoch 2/10 | step 1,200/5,000 | loss 2.000 | val_loss 0.412",
      "Train Epoch: 1 [640/60000 (1%)] Loss: 2.301",
      "step 20, 30 images, 40 batches, gpu 3, 12% of 7",
      "iter 20: loss 2.3, time 12.34ms, mfu 1.20%",
      "Schritt 20 von 30, Verlust 0,31",
      "第1轮 第20步 损失 0.31",
      "test acc 0.91 step=20/30 samples: 640 eval 3"};
  std::mt19937 random(7);
  int known = 0;
  for (const std::string& kind : kinds) {
    LogLines lines;
    lines.read(kind);
    for (int round = 0; round < 3000; ++round) {
      std::string text = kind;
      for (int change = 1 + static_cast<int>(random() % 3); change > 0; --change) {
        std::size_t at = random() % text.size();
        while (text[at] < '0' || text[at] > '9') at = (at + 1) % text.size();
        switch (random() % 6) {
          case 0:
            text.insert(at, 1, static_cast<char>('0' + random() % 10));
            break;
          case 1:
            text.erase(at, 1);
            if (text.find_first_of("0123456789") == text.npos) text += "0";
            break;
          case 2:
            text[at] = '0';
            break;
          default:
            text[at] = static_cast<char>('0' + random() % 10);
        }
      }
      const LogLine* found = lines.known(text);
      if (found == nullptr) continue;
      ++known;
      expect_same(read_log_line(text), *found, text);
    }
  }
  EXPECT_GT(known, 3000);
}

}  // namespace
}  // namespace sweetspot::workload::command::output
