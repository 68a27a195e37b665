#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "words.h"
#include "workload/command/output_transcript.h"

namespace sweetspot::workload::command::output {
namespace {

struct Totals {
  double seconds = 0;
  std::int64_t updates = 0, samples = 0;
};

Totals totals(Reader& reader, const std::vector<Piece>& pieces) {
  Totals totals;
  for (const Advance& advance : fed(reader, pieces)) {
    totals.seconds += advance.seconds;
    totals.updates += advance.updates;
    totals.samples += advance.samples;
  }
  return totals;
}

TEST(StepsRegex, AGroupIsACounterOfUpdates) {
  Reader reader(R"(iter (\d+))");
  const Totals read =
      totals(reader, {{1, "iter 10 loss 1\n"}, {3, "iter 30 loss 1\n"}, {4, "x\n"}});
  EXPECT_EQ(read.updates, 20);
  EXPECT_EQ(read.samples, 0);
  EXPECT_EQ(read.seconds, 2);
  EXPECT_EQ(reader.findings().counter.source, "--steps-regex");
}

TEST(StepsRegex, AGroupNamedSamplesCountsSamples) {
  Reader reader(R"(seen (?<samples>\d+))");
  EXPECT_EQ(totals(reader, {{1, "seen 640\n"}, {2, "seen 1280\n"}}).samples, 640);
}

TEST(StepsRegex, WithoutAGroupEachMatchIsAnUpdate) {
  Reader reader("loss=");
  EXPECT_EQ(totals(reader, {{1, "loss=1\n"}, {2, "loss=1 loss=2\n"}, {3, "\rloss=3\r"}}).updates,
            3);
}

TEST(StepsRegex, AloneCounts) {
  Reader reader("nothing like this");
  EXPECT_EQ(totals(reader, {{1, "\r 1%|# | 10/100 [00:01<00:09, 1.00it/s]"},
                            {2, "\r 1%|# | 20/100 [00:01<00:09, 1.00it/s]\r"}})
                .updates,
            0);
  EXPECT_EQ(reader.findings().counter.source, "");
}

TEST(StepsRegex, ReadsInvalidUtf8) {
  Reader reader(R"(étape (\d+))");
  EXPECT_EQ(totals(reader, {{1, "\xff étape 1\n"}, {2, "\xc3 étape 5 \xfe\n"}}).updates, 4);
}

TEST(StepsRegex, ACounterThatIsNoNumberIsIgnored) {
  Reader reader(R"(step (\S+))");
  EXPECT_EQ(totals(reader, {{1, "step one\n"},
                            {2, "step 99999999999999999999999999\n"},
                            {3, "step 5\n"},
                            {4, "step 8\n"}})
                .updates,
            3);
}

TEST(StepsRegex, OneThatBacktracksWithoutEndIsGivenUp) {
  Reader reader(R"((?:a|aa|a?a)+$)");
  const std::string line = std::string(3000, 'a') + "b\n";
  for (int i = 0; i < 110; ++i) reader.feed(line, i);
  EXPECT_TRUE(reader.findings().regex_gave_up);
  EXPECT_TRUE(reader.take().empty());
}

std::string refusal_of(const std::string& pattern) {
  try {
    const Reader reader(pattern);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(StepsRegex, UselessOnesAreRefusedWithTheReason) {
  EXPECT_WORDS(refusal_of("step ("));
  EXPECT_WORDS(refusal_of(R"((\d+)/(\d+))"));
  EXPECT_WORDS(refusal_of("x*"));
  EXPECT_WORDS(refusal_of("\xff"));
  EXPECT_EQ(refusal_of(R"(step (\d+))"), "");
}

}  // namespace
}  // namespace sweetspot::workload::command::output
