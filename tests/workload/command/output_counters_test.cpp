#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/command/output_transcript.h"

namespace sweetspot::workload::command::output {

bool operator==(const Advance& left, const Advance& right) {
  return left.seconds == right.seconds && left.updates == right.updates &&
         left.samples == right.samples;
}
void PrintTo(const Advance& advance, std::ostream* out) {
  *out << advance.updates << " updates, " << advance.samples << " samples in " << advance.seconds;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Advance> read(const std::vector<Piece>& pieces) {
  Reader reader;
  return fed(reader, pieces);
}

std::string tqdm(const std::string& head, const std::string& counter,
                 const std::string& rate = "17.64it/s") {
  return "\r" + head + " 12%|█▏        | " + counter + " [00:01<00:09, " + rate + "]";
}

TEST(Counters, TheFirstRefreshIsAMarkOnly) {
  EXPECT_THAT(read({{1, tqdm("", "24/200")}}), IsEmpty());
  EXPECT_THAT(read({{1, tqdm("", "24/200")}, {3, tqdm("", "34/200")}}),
              ElementsAre(Advance{2, 10, 0}));
}

TEST(Counters, AnUnchangedCountLetsTheTimeRunOn) {
  EXPECT_THAT(read({{1, tqdm("", "24/200")}, {2, tqdm("", "24/200")}, {5, tqdm("", "32/200")}}),
              ElementsAre(Advance{4, 8, 0}));
}

TEST(Counters, NothingIsCountedAcrossARestart) {
  EXPECT_THAT(read({{1, tqdm("Epoch 1:", "190/200")},
                    {2, tqdm("Epoch 1:", "200/200")},
                    {9, tqdm("Epoch 2:", "0/200")},
                    {10, tqdm("Epoch 2:", "20/200")}}),
              ElementsAre(Advance{1, 10, 0}, Advance{1, 20, 0}));
}

TEST(Counters, ANewTotalStartsAnew) {
  EXPECT_THAT(read({{1, tqdm("train:", "10/200")},
                    {2, tqdm("train:", "20/200")},
                    {3, tqdm("train:", "25/300")},
                    {4, tqdm("train:", "35/300")}}),
              ElementsAre(Advance{1, 10, 0}));
}

TEST(Counters, RefreshesOfOneMomentAreOneAdvance) {
  EXPECT_THAT(read({{1, tqdm("", "10/200") + tqdm("", "20/200")},
                    {2, tqdm("", "30/200") + tqdm("", "40/200")},
                    {3, tqdm("", "50/200")}}),
              ElementsAre(Advance{1, 20, 0}, Advance{1, 10, 0}));
}

TEST(Counters, AClockThatStandsOrRunsBackLosesNothing) {
  Reader reader;
  std::int64_t updates = 0;
  for (const auto& [seconds, count] :
       {std::pair{5.0, 1}, {6.0, 11}, {6.0, 21}, {4.0, 31}, {7.0, 41}}) {
    reader.feed(tqdm("", std::to_string(count) + "/200"), seconds);
    for (const Advance& advance : reader.take()) {
      EXPECT_GT(advance.seconds, 0);
      updates += advance.updates;
    }
  }
  EXPECT_EQ(updates, 40);
}

TEST(Counters, TheUnitSaysWhatIsCounted) {
  const auto counted = [](const std::string& rate) {
    const auto advances = read({{1, tqdm("", "10/200", rate)}, {2, tqdm("", "20/200", rate)}});
    return advances.empty() ? Advance{} : advances.front();
  };
  for (const char* rate : {"17.64it/s", "1.30s/it", "2.00batch/s", "1.30s/step", " 5.00s/ batches"})
    EXPECT_EQ(counted(rate), (Advance{1, 10, 0})) << rate;
  for (const char* rate :
       {"640ex/s", "1.20kimg/s", "2.00s/sample", "99 examples/s", "4.00Images/s"})
    EXPECT_EQ(counted(rate), (Advance{1, 0, 10})) << rate;
  for (const char* rate : {"1.2MB/s", "3.00files/s", "5.0kB/s", "1.00s/epoch"})
    EXPECT_EQ(counted(rate), Advance{}) << rate;
}

TEST(Counters, OtherBarsThanTrainingAreLeftOut) {
  for (const char* head : {"Validation:", "val:", "Evaluating:", "Test 3:", "Sanity Checking:",
                           "Predicting DataLoader 0:", "Map:", "Downloading data:",
                           "Loading checkpoint shards:", "Generating train split:"})
    EXPECT_THAT(
        read({{1, tqdm(head, "1/200")}, {2, tqdm(head, "20/200")}, {3, tqdm(head, "30/200")}}),
        IsEmpty())
        << head;
}

TEST(Counters, MetricsInADescriptionDoNotMakeItAValidation) {
  for (const char* head : {"Epoch 3 val_loss=0.25:", "loss 0.5 value 0.2:", "train test/acc 0.3:"})
    EXPECT_THAT(read({{1, tqdm(head, "1/200")}, {2, tqdm(head, "20/200")}}),
                ElementsAre(Advance{1, 19, 0}))
        << head;
}

// A bar of another thread does not affect the training's step times.
TEST(Counters, ABarThatRunsBesideTheTrainingInterruptsNothing) {
  std::vector<Piece> pieces;
  for (int at = 1; at <= 10; ++at) {
    pieces.push_back({at - 0.5, tqdm("prefetch:", std::to_string(at * 3) + "/900", "30shard/s")});
    pieces.push_back({at * 1.0, tqdm("train:", std::to_string(at * 10) + "/500")});
  }
  const std::vector<Advance> advances = read(pieces);
  ASSERT_GE(advances.size(), 5u);
  for (const Advance& advance : advances) EXPECT_EQ(advance, (Advance{1, 10, 0}));
}

TEST(Counters, BarsThatProgramsDrawThemselvesCount) {
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"\rEpoch 1 [======>             ] ", "/2000 loss 0.31"},
           {"\r[训练] 第1轮 [====                ] ", "/6400 损失: 0.7445 用时: 10.0秒"},
           {"\rEpoch 1/30 ━━━━━━━━━╸━━━━━━  12% ", "/2000 0:01 -0:09 dice: 0.312"},
           {"\r|████▌        | 12.5% (", "/2000)"},
           {"\r[##########..........]  50 % | ", " / 2,000 | loss 0.3"},
           {"Epoch 3: ▓▓▓▓▓░░░░░░░ ", "/2000 batches"},
           {"\r", "/2000 [####------] 12%"}}) {
    std::vector<Piece> pieces;
    for (int at = 0; at < 3; ++at)
      pieces.push_back({at + 1.0, before + std::to_string(120 + at * 20) + after});
    if (before.front() != '\r')
      for (Piece& piece : pieces) piece.bytes += "\n";
    pieces.push_back({4, "\n"});
    EXPECT_THAT(read(pieces), ElementsAre(Advance{1, 20, 0}, Advance{1, 20, 0}))
        << before << "…" << after;
  }
}

TEST(Counters, DrawnBarsOfSomethingElseCountNothing) {
  for (const auto& [before, after] :
       std::vector<std::pair<std::string, std::string>>{{"Downloading [====>     ] ", "/2000"},
                                                        {"[====>     ] ", "/2000MB"},
                                                        {"Validierung [====>     ] ", "/2000"},
                                                        {"| 12 | ", "/2000 |"},
                                                        {"| layer | ------- | 3x3 | ", "/2000 |"},
                                                        {"[====>     ] ", "% of epochs"}}) {
    std::vector<Piece> pieces;
    for (int at = 0; at < 4; ++at)
      pieces.push_back({at + 1.0, before + std::to_string(120 + at * 20) + after + "\n"});
    EXPECT_THAT(read(pieces), IsEmpty()) << before << "…" << after;
  }
}

TEST(Counters, AValidationInBetweenIsNoTrainingTime) {
  EXPECT_THAT(read({{1, tqdm("Train:", "10/200")},
                    {2, tqdm("Train:", "20/200")},
                    {3, tqdm("Val:", "0/10")},
                    {8, tqdm("Train:", "21/200")},
                    {9, tqdm("Train:", "31/200")}}),
              ElementsAre(Advance{1, 10, 0}, Advance{1, 10, 0}));
}

TEST(Counters, AbsurdNumbersAreIgnored) {
  const std::string many(400, '9');
  EXPECT_THAT(read({{1, tqdm("", "1/" + many)}, {2, tqdm("", "20/" + many)}}), IsEmpty());
  EXPECT_THAT(read({{1, tqdm("", many + "/200")}, {2, tqdm("", many + "/200")}}), IsEmpty());
  EXPECT_THAT(read({{1, tqdm("", "300/200")}, {2, tqdm("", "400/200")}}), IsEmpty());
  EXPECT_THAT(read({{1, tqdm("", "0/0")}, {2, tqdm("", "0/0")}}), IsEmpty());
  EXPECT_THAT(read({{1, tqdm("", "-5/200")}, {2, tqdm("", "-1/200")}}), IsEmpty());
}

TEST(Counters, LogLinesOfStepsCountUpdates) {
  EXPECT_THAT(read({{1, "Epoch: [0][   10/5005]\tTime  0.5 ( 0.6)\tLoss 6.9\n"},
                    {2, "Epoch: [0][   20/5005]\tTime  0.5 ( 0.6)\tLoss 6.9\n"},
                    {3, "Test: [ 0/196]\tTime  0.5\n"}}),
              ElementsAre(Advance{1, 10, 0}));
  EXPECT_THAT(read({{1, "Epoch: [0]  [  10/5005]  eta: 0:12:34  lr: 0.1  time: 0.5\n"},
                    {2, "Test:  [  0/196]  eta: 0:00:34\n"},
                    {9, "Epoch: [0]  [  20/5005]  eta: 0:12:34  lr: 0.1  time: 0.5\n"},
                    {10, "Epoch: [0]  [  30/5005]  eta: 0:12:34  lr: 0.1  time: 0.5\n"}}),
              ElementsAre(Advance{1, 10, 0}));
  EXPECT_THAT(read({{1, "Epoch [1/10], Step [100/600], Loss: 0.5\n"},
                    {2, "Epoch [1/10], Step [200/600], Loss: 0.5\n"}}),
              ElementsAre(Advance{1, 100, 0}));
  EXPECT_THAT(read({{1, "Train: 0 [   0/1251 (  0%)]  Loss: 6.9\n"},
                    {3, "Train: 0 [  50/1251 (  4%)]  Loss: 6.9\n"}}),
              ElementsAre(Advance{2, 50, 0}));
}

TEST(Counters, PlainLinesOfStepsCountUpdates) {
  const auto lines = [](const std::string& before, const std::string& after) {
    return std::vector<Piece>{{1, before + "10/100" + after + "\n"},
                              {3, before + "20/100" + after + "\n"},
                              {4, before + "25/100" + after + "\n"}};
  };
  for (const char* before :
       {"step ", "Step ", "STEPS: ", "iter ", "Iteration=", "batch ", "it ", "step #", "step   ",
        "Epoch 1/10 | Step ", "[2026-01-01 10:00:00] INFO train: batch ", "train epoch 3, iter: "})
    for (const char* after : {"", " loss 0.3", ", loss: 1.2e-3 val_loss 0.4", "]", ". loss=nan",
                              " (10%) 1m 3s", "\tlr 1e-3 [a/b]"})
      EXPECT_THAT(read(lines(before, after)), ElementsAre(Advance{2, 10, 0}, Advance{1, 5, 0}))
          << before << "…" << after;
  EXPECT_THAT(read({{1, "\rstep 1 / 100"}, {2, "\rstep 2 / 100"}, {3, "\rstep 3 / 100"}}),
              ElementsAre(Advance{1, 1, 0}));
}

TEST(Counters, PlainLinesOfAnythingElseCountNothing) {
  for (const char* before :
       {"epoch ", "Epoch: ", "file ", "fold ", "shard ", "val step ", "Validation batch ",
        "test iter ", "eval_step ", "timestep ", "sub-step ", "step size ", "batch of ", "[",
        "step -", "step 1.", "steps left: x"})
    EXPECT_THAT(read({{1, before + std::string("1/10\n")},
                      {2, before + std::string("2/10\n")},
                      {3, before + std::string("3/10\n")}}),
                IsEmpty())
        << before;
  for (const char* after : {".5", ",00", "/2", "%", "MB", "_x", "-3"})
    EXPECT_THAT(read({{1, std::string("step 1/10") + after + "\n"},
                      {2, std::string("step 2/10") + after + "\n"}}),
                IsEmpty())
        << after;
  const std::string many(400, '9');
  EXPECT_THAT(read({{1, "step 1/" + many + "\n"}, {2, "step 2/" + many + "\n"}}), IsEmpty());
  EXPECT_THAT(read({{1, "step 20/10\n"}, {2, "step 30/10\n"}}), IsEmpty());
  EXPECT_THAT(read({{1, "step 3/10\n"}, {2, "step 3/10\n"}}), IsEmpty());
}

// Three lines: a counter without a total is recognised at its second rise, and loses nothing by it.
std::vector<Piece> log(const std::string& before, const std::string& after) {
  std::vector<Piece> pieces;
  for (int at = 0; at < 4; ++at)
    pieces.push_back({at + 1.0, before + std::to_string(1200 + at * 20) + after + "\n"});
  return pieces;
}

TEST(Counters, LinesOfALogCountInAnyPunctuation) {
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"INFO epoch=1 step=", " loss=0.31"},
           {"epoch: 1, step: ", ""},
           {"step ", " loss 0.3"},
           {"{\"step\": ", ", \"loss\": 0.31}"},
           {"{'iteration': ", ", 'loss': 0.31}"},
           {"iter ", ": loss 2.3, time 12.34ms, mfu 1.20%"},
           {"[11/16 12:00:01 d2.utils.events]:  eta: 0:12:34  iter: ", "  total_loss: 1.2"},
           {"Step #", ""},
           {"[step ", "] loss=0.31"},
           {"globalStep: ", ", loss: 2.1"},
           {"train/global_step: ", " train/loss: 0.3"},
           {"epoch 0 batch_idx ", " loss 0.3"},
           {"INFO:tensorflow:loss = 2.1, step = ", " (12.3 sec)"},
           {"step → ", "  loss → 0.3"},
           {"step\t", "\tloss\t0.3"},
           {"Finished ", " steps, loss 0.3"},
           {"done: ", " training iterations so far"},
           {"\033[1mstep\033[0m=\033[36m", "\033[0m loss=0.3"},
           {"iteration no. ", " done"},
           {"[rank0] step ", " loss 0.3 best_val_loss 0.412"},
           {"step_", " loss 0.3"},
           {"Epoche 1, Schritt ", ": Verlust 0,31"},
           {"étape ", " — perte = 0,31"},
           {"ÉTAPE ", ""},
           {"Paso ", " pérdida 0.31"},
           {"iteração ", ": perda 0.31"},
           {"Шаг ", ", потеря 0.31"},
           {"итерация ", " потеря 0.31"},
           {"第", "步 损失 0.31"},
           {"训练步数: ", " 损失: 0.31"},
           {"ステップ ", " 損失 0.31"},
           {"스텝 ", " 손실 0.31"},
           {"step ", " | train: 0.3 | val: --"}})
    EXPECT_THAT(read(log(before, after)), ElementsAre(Advance{2, 40, 0}, Advance{1, 20, 0}))
        << before << "…" << after;
  EXPECT_THAT(
      read({{1, "step 980 loss 1\n"}, {2, "step 1,000 loss 1\n"}, {3, "step 1,020 loss 1\n"}}),
      ElementsAre(Advance{2, 40, 0}));
}

TEST(Counters, LinesOfALogThatCountSomethingElse) {
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"epoch ", " loss 0.3"},
           {"eval step ", " acc 0.3"},
           {"[val] iter ", " loss 0.3"},
           {"{\"phase\": \"eval\", \"step\": ", ", \"loss\": 0.3}"},
           {"step ", ": val_loss 0.3"},
           {"Downloading batch ", ""},
           {"warmup step ", ""},
           {"time step ", ""},
           {"steps per epoch ", ""},
           {"max_steps=", ""},
           {"best step ", " loss 0.3"},
           {"saved ckpt/step_", ".pt"},
           {"step -", ""},
           {"step 0.", ""},
           {"step 12:", ""},
           {"step ", "%"},
           {"step ", "ms"},
           {"speed ", " steps/s"},
           {"speed ", " steps per second"},
           {"ms/step: ", ""},
           {"batch size ", " loss 0.3"},
           {"next save in ", " steps left"},
           {"évaluation : étape ", " — erreur = 0,31"},
           {"验证步数: ", ""},
           {"每轮步数: ", ""},
           {"Episode 3 return 21.5 steps ", ""},
           {"tokens ", " loss 0.3"}})
    EXPECT_THAT(read(log(before, after)), IsEmpty()) << before << "…" << after;
}

TEST(Counters, OfALineWithTwoTheFasterCounts) {
  std::vector<Piece> pieces;
  for (int at = 0; at < 4; ++at)
    pieces.push_back({at + 1.0, "update " + std::to_string(at * 5) + " batch " +
                                    std::to_string(at * 20) + " loss 0.3\n"});
  EXPECT_THAT(read(pieces), ElementsAre(Advance{2, 40, 0}, Advance{1, 20, 0}));
}

TEST(Counters, ANumberThatFallsAsNoCounterDoesIsNone) {
  std::vector<Piece> pieces;
  double seconds = 0;
  for (const int images : {640, 655, 648, 661, 639, 650, 671})
    pieces.push_back({++seconds, "speed " + std::to_string(images) + " images a second\n"});
  EXPECT_THAT(read(pieces), IsEmpty());
}

TEST(Counters, WhatLiesBetweenTwoLinesCountsOnlyIfItWasTraining) {
  const auto with = [](const std::string& between) {
    std::vector<Piece> pieces;
    for (int at = 0; at < 8; ++at) {
      if (at == 5) pieces.push_back({at + 9.0, between + "\n"});
      pieces.push_back(
          {at + (at < 5 ? 1.0 : 10.0), "step " + std::to_string(at * 20) + " loss 0.3\n"});
    }
    return pieces;
  };
  for (const char* between :
       {"val_loss 0.31", "Validation accuracy: 0.9", "step 100: train loss 0.3, val loss 0.4",
        "Evaluating...", "saved checkpoint to out/step_100.pt", "Epoch 2", "epoch 1: acc 0.4",
        "[eval] batch 3/10", "test set: accuracy 9800/10000 (98%)"})
    EXPECT_THAT(read(with(between)),
                ElementsAre(Advance{2, 40, 0}, Advance{1, 20, 0}, Advance{1, 20, 0},
                            Advance{1, 20, 0}, Advance{1, 20, 0}))
        << between;
}

// Their time is not known, but a run to a target made them.
TEST(Counters, StepsAroundAnEvaluationAreCountedWithoutTheirTime) {
  Reader reader;
  double at = 0;
  std::int64_t timed = 0;
  for (int step = 5; step <= 100; step += 5) {
    reader.feed("step " + std::to_string(step) + " loss 0.5\n", at += 0.1);
    if (step % 10 == 0) reader.feed("val_accuracy: 0.5\n", at += 0.3);
    for (const Advance& advance : reader.take()) timed += advance.updates;
  }
  const std::int64_t untimed = reader.findings().counter.untimed;
  EXPECT_GT(timed, 30);
  EXPECT_EQ(timed + untimed, 95) << "all after the first line";
}

TEST(Counters, AnotherLoopThatCountsInBetweenIsNoTraining) {
  std::vector<Piece> pieces;
  double seconds = 0;
  for (int at = 0; at < 12; ++at) {
    pieces.push_back({seconds += 1, "step " + std::to_string(at * 20) + " loss 0.3\n"});
    for (int batch = 0; at % 4 == 3 && batch < 30; ++batch)
      pieces.push_back({seconds += 0.125, "batch " + std::to_string(batch) + " acc 0.4\n"});
  }
  for (const Advance& advance : read(pieces))
    EXPECT_EQ(static_cast<double>(advance.updates) / advance.seconds, 20);
}

TEST(Counters, SeveralProcessesThatPrintTheSameCountOnce) {
  std::vector<Piece> pieces;
  for (int at = 0; at < 5; ++at)
    for (const int rank : {0, 1, 2})
      pieces.push_back(
          {at + 1.0, "[rank" + std::to_string(rank) + "] step " + std::to_string(at * 20) + "\n"});
  EXPECT_THAT(read(pieces), ElementsAre(Advance{2, 40, 0}, Advance{1, 20, 0}, Advance{1, 20, 0}));
}

TEST(Counters, ABarOfEpochsIsToldByItsLines) {
  std::vector<Piece> pieces;
  for (int epoch = 0; epoch < 6; ++epoch) {
    pieces.push_back({epoch * 5 + 1.0, tqdm("", std::to_string(epoch) + "/10")});
    pieces.push_back({epoch * 5 + 2.0, "\nEpoch " + std::to_string(epoch) + ": loss 0.3\n"});
  }
  EXPECT_THAT(read(pieces), IsEmpty());
}

TEST(Counters, LinesAndStepsAreCountedApart) {
  Reader reader;
  for (int at = 0; at < 6; ++at)
    reader.feed("iteration " + std::to_string(at * 20) + "/ 500 | consumed samples: " +
                    std::to_string(at * 640) + " | lm loss: 1.2E+00\n",
                at + 1.0);
  const Findings& findings = reader.findings();
  EXPECT_EQ(findings.lines, 6);
  EXPECT_EQ(findings.counter.lines, 5);
  EXPECT_EQ(findings.counter.total, 500);
  EXPECT_EQ(findings.counter.samples_per_step, 32);
  std::int64_t steps = 0;
  for (const Advance& advance : reader.take()) steps += advance.updates;
  EXPECT_EQ(steps, 100);
}

TEST(Counters, AListOfStagesIsNoTraining) {
  EXPECT_THAT(read({{1, "Step 1/3: loading the data\n"},
                    {2, "Step 2/3: building the model\n"},
                    {3, "Step 3/3: training\n"},
                    {4, "step 1/100 loss 0.5\n"},
                    {6, "step 2/100 loss 0.4\n"}}),
              ElementsAre(Advance{2, 1, 0}));
  // If it looks like a counter, the following bar takes precedence.
  EXPECT_THAT(read({{1, "Step 1/4: loading data\n"},
                    {2, "Step 2/4: loading a model\n"},
                    {3, tqdm("", "0/200")},
                    {4, tqdm("", "10/200")},
                    {5, tqdm("", "20/200")}}),
              ElementsAre(Advance{1, 1, 0}, Advance{1, 10, 0}, Advance{1, 10, 0}));
}

TEST(Counters, ABarWhoseDescriptionHasAStepIsReadForItself) {
  EXPECT_THAT(read({{1, tqdm("step 3/10", "10/200")}, {2, tqdm("step 3/10", "20/200")}}),
              ElementsAre(Advance{1, 10, 0}));
}

TEST(Counters, OrdinaryLogLinesCountNothing) {
  EXPECT_THAT(read({{1, "Epoch [1/10], Loss: 0.5\n"},
                    {2, "Epoch [2/10], Loss: 0.5\n"},
                    {3, "copied [10/20]\n"},
                    {4, "copied [20/20]\n"}}),
              IsEmpty());
  EXPECT_THAT(read({{1, "[2026-01-01 10:00:00] epoch 1/5\n"},
                    {2, "[2026-01-01 10:00:05] epoch 2/5\n"},
                    {3, "Accuracy: 9800/10000 (98%)\n"},
                    {4, "Accuracy: 9900/10000 (99%)\n"},
                    {5, "1/2 of the files\n"},
                    {6, "2/2 of the files\n"}}),
              IsEmpty());
}

TEST(Counters, ABarCountsBeforeTheNextEndsIt) {
  Reader reader;
  reader.feed(tqdm("", "10/200"), 1);
  reader.feed(tqdm("", "20/200"), 2);
  EXPECT_THAT(reader.take(), ElementsAre(Advance{1, 10, 0}));
  EXPECT_THAT(reader.take(), IsEmpty());
}

TEST(Counters, TheTimeIsThatOfTheTextAndNotOfWhatEndsIt) {
  EXPECT_THAT(read({{1, "Epoch 1/2\n60/60 - 3s - loss: 0.3"},
                    {2, "\nEpoch 2/2\n"},
                    {4, "60/60 - 3s - loss: 0.2"},
                    {9, "\n"}}),
              ElementsAre(Advance{3, 60, 0}));
}

TEST(Counters, ARowOfBarsWithoutWordsFollowsTheFirst) {
  // A loading bar, then training twice: the second start identifies the training.
  std::vector<Piece> pieces{{1, tqdm("", "0/500")}, {2, tqdm("", "500/500")}};
  for (int epoch = 0; epoch < 2; ++epoch) {
    pieces.push_back({10.0 + epoch * 10, tqdm("", "0/200")});
    pieces.push_back({12.0 + epoch * 10, tqdm("", "200/200")});
  }
  EXPECT_THAT(read(pieces), ElementsAre(Advance{1, 500, 0}, Advance{2, 200, 0}));
}

}  // namespace
}  // namespace sweetspot::workload::command::output
