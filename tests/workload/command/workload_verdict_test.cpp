#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "workload/command/verdict.h"

namespace sweetspot::workload::command {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using trial::Outcome;

Evidence exited(int code, std::int64_t steps = 0) {
  Evidence evidence;
  evidence.ending.exit_code = code;
  evidence.steps = steps;
  return evidence;
}

Evidence killed_by(int signal) {
  Evidence evidence;
  evidence.ending.signal = signal;
  return evidence;
}

TEST(Verdict, OfAProperEnd) {
  EXPECT_EQ(verdict(exited(0, 3)).outcome, Outcome::ok);
  EXPECT_EQ(verdict(exited(0)).outcome, Outcome::refused);
  EXPECT_THAT(verdict(exited(0)).what(),
              AllOf(HasSubstr("made no step that could be seen; print a line like 'step 20'"),
                    HasSubstr("docs/programs.md"), HasSubstr("--samples-per-run"),
                    Not(HasSubstr("lines of its client"))));
  EXPECT_EQ(verdict(exited(0, 1)).outcome, Outcome::refused);
  EXPECT_THAT(verdict(exited(0, 1)).what(), HasSubstr("no more than 1 step could be seen"));
  EXPECT_THAT(verdict(exited(0, 2)).what(), HasSubstr("no more than 2 steps could be seen"));
  Evidence talked = exited(0);
  talked.bad_client_lines = 7;
  EXPECT_THAT(verdict(talked).what(), HasSubstr("7 lines of its client could not be used"));
}

TEST(Verdict, ASignalAloneIsNoWantOfMemory) {
  EXPECT_EQ(verdict(killed_by(SIGKILL)).outcome, Outcome::killed);
  EXPECT_THAT(verdict(killed_by(SIGKILL)).what(), HasSubstr("cause unknown"));
  EXPECT_EQ(verdict(exited(137, 5)).outcome, Outcome::killed);
  EXPECT_EQ(verdict(killed_by(SIGTERM)).outcome, Outcome::killed);
  EXPECT_EQ(verdict(killed_by(SIGABRT)).outcome, Outcome::crashed);
  EXPECT_EQ(verdict(exited(1)).outcome, Outcome::crashed);
}

TEST(Verdict, OfWantOfMemoryNeedsEvidence) {
  Evidence oom = killed_by(SIGKILL);
  oom.ending.oom_killed = true;
  EXPECT_EQ(verdict(oom).outcome, Outcome::out_of_memory);
  for (Evidence said : {exited(1), exited(0), exited(0, 9), killed_by(SIGABRT)}) {
    said.findings.memory_evidence = "std::bad_alloc";
    EXPECT_EQ(verdict(said).outcome, Outcome::out_of_memory);
    EXPECT_STREQ(verdict(said).what(), "std::bad_alloc");
  }
  // Another process of the tree may be the one that was killed, and the program may cope.
  Evidence coped = exited(0, 9);
  coped.ending.oom_killed = true;
  EXPECT_EQ(verdict(coped).outcome, Outcome::ok);
}

TEST(Verdict, OfAHangSaysForHowLong) {
  EXPECT_THAT(timed_out(exited(0), core::Seconds(120)).what(),
              AllOf(HasSubstr("no step was seen for 2 min"), HasSubstr("--timeout")));
  EXPECT_THAT(timed_out(exited(0, 1), core::Seconds(2)).what(), HasSubstr("no further step"));
  Evidence stuck = exited(0, 1);
  stuck.findings.memory_evidence = "CUDA out of memory";
  EXPECT_EQ(timed_out(stuck, core::Seconds(2)).outcome, Outcome::out_of_memory);
}

TEST(Verdict, TellsOfAnExpressionThatWasGivenUp) {
  Evidence evidence = exited(0, 1);
  EXPECT_EQ(regex_note(evidence.findings), "");
  evidence.findings.regex_gave_up = true;
  EXPECT_THAT(timed_out(evidence, core::Seconds(2)).what(),
              AllOf(HasSubstr("no further step"), HasSubstr("--steps-regex was given up")));
}

TEST(Verdict, QuotesTheEndOfTheOutputInOneLine) {
  EXPECT_EQ(quoted_tail(""), "");
  EXPECT_EQ(quoted_tail("\n \n"), "");
  EXPECT_EQ(quoted_tail("a\nb\n"), "; its last output: a b");
  std::string text;
  for (int i = 0; i < 500; ++i) text += "é";  // two bytes each: a cut must not halve one
  for (int shift = 0; shift < 2; ++shift, text += "x") {
    const std::string quoted = quoted_tail(text);
    EXPECT_LE(quoted.size(), 630u);
    EXPECT_THAT(quoted, HasSubstr("output: é"));
  }
}

}  // namespace
}  // namespace sweetspot::workload::command
