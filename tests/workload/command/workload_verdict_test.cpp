#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "words.h"
#include "workload/command/verdict.h"

namespace sweetspot::workload::command {
namespace {

using trial::Outcome;

ProgramEnd exited(int code, std::int64_t steps = 0) {
  ProgramEnd known;
  known.ending.exit_code = code;
  known.steps = steps;
  return known;
}

ProgramEnd killed_by(int signal) {
  ProgramEnd known;
  known.ending.signal = signal;
  return known;
}

TEST(Verdict, OfAProperEnd) {
  EXPECT_EQ(verdict(exited(0, 3)).outcome, Outcome::ok);
  EXPECT_EQ(verdict(exited(0)).outcome, Outcome::refused);
  EXPECT_WORDS(verdict(exited(0)).what());
  EXPECT_EQ(verdict(exited(0, 1)).outcome, Outcome::refused);
  EXPECT_WORDS(verdict(exited(0, 1)).what());
  EXPECT_WORDS(verdict(exited(0, 2)).what());
  ProgramEnd talked = exited(0);
  talked.bad_client_lines = 7;
  EXPECT_WORDS(verdict(talked).what());
}

TEST(Verdict, ASignalAloneIsNoWantOfMemory) {
  EXPECT_EQ(verdict(killed_by(SIGKILL)).outcome, Outcome::killed);
  EXPECT_WORDS(verdict(killed_by(SIGKILL)).what());
  EXPECT_EQ(verdict(exited(137, 5)).outcome, Outcome::killed);
  EXPECT_EQ(verdict(killed_by(SIGTERM)).outcome, Outcome::killed);
  EXPECT_EQ(verdict(killed_by(SIGABRT)).outcome, Outcome::crashed);
  EXPECT_EQ(verdict(exited(1)).outcome, Outcome::crashed);
}

TEST(Verdict, OfWantOfMemoryNeedsEvidence) {
  ProgramEnd oom = killed_by(SIGKILL);
  oom.ending.oom_killed = true;
  EXPECT_EQ(verdict(oom).outcome, Outcome::out_of_memory);
  for (ProgramEnd said : {exited(1), exited(0), exited(0, 9), killed_by(SIGABRT)}) {
    said.findings.memory_evidence = "std::bad_alloc";
    EXPECT_EQ(verdict(said).outcome, Outcome::out_of_memory);
    EXPECT_STREQ(verdict(said).what(), "std::bad_alloc");
  }
  // The killed process may be another one of the tree, and the program may survive it.
  ProgramEnd coped = exited(0, 9);
  coped.ending.oom_killed = true;
  EXPECT_EQ(verdict(coped).outcome, Outcome::ok);
}

TEST(Verdict, OfAHangSaysForHowLong) {
  EXPECT_WORDS(timed_out(exited(0), core::Seconds(120)).what());
  EXPECT_WORDS(timed_out(exited(0, 1), core::Seconds(2)).what());
  ProgramEnd stuck = exited(0, 1);
  stuck.findings.memory_evidence = "CUDA out of memory";
  EXPECT_EQ(timed_out(stuck, core::Seconds(2)).outcome, Outcome::out_of_memory);
}

TEST(Verdict, TellsOfAnExpressionThatWasGivenUp) {
  ProgramEnd known = exited(0, 1);
  EXPECT_EQ(regex_note(known.findings), "");
  known.findings.regex_gave_up = true;
  EXPECT_WORDS(timed_out(known, core::Seconds(2)).what());
}

TEST(Verdict, OffersTheExpressionThatReadsItsLines) {
  ProgramEnd known = exited(0);
  known.suggestion = {output::Suggestion::Kind::paste_regex, "tick=(\\d+)", {340, 360}};
  for (const Ended& ended : {verdict(known), unrecognised(known, core::Seconds(10)),
                             timed_out(known, core::Seconds(10))})
    EXPECT_WORDS(ended.what());
  EXPECT_WORDS(out_of_time(known).what());
  known.findings.lines = 12;
  EXPECT_WORDS(out_of_time(known).what());
}

TEST(Verdict, AProgramThatPrintsInVainIsGivenUpWhileTimeIsLeft) {
  using Kind = output::Suggestion::Kind;
  const core::Seconds timeout(120);
  EXPECT_FALSE(prints_in_vain(20, Kind::nothing_rises, timeout, {}));
  EXPECT_TRUE(prints_in_vain(30, Kind::nothing_rises, timeout, {}));
  EXPECT_TRUE(prints_in_vain(10, Kind::paste_regex, timeout, {})) << "a number rises";
  EXPECT_TRUE(prints_in_vain(20, Kind::nothing_rises, timeout, core::Seconds(80)));
  EXPECT_FALSE(prints_in_vain(1, Kind::nothing_rises, core::Seconds(2), {})) << "one line";
}

process::Ending ending(int code) {
  process::Ending ending;
  ending.exit_code = code;
  return ending;
}

TEST(FailureReason, IsTheLineThatTellsMost) {
  EXPECT_EQ(failure_reason(ending(1), ""), "exit code 1");
  EXPECT_EQ(failure_reason(ending(2), "usage: train\nerror: no such flag\n \n"),
            "exit code 2: error: no such flag");
  EXPECT_EQ(failure_reason(ending(139), "x"), "exit code 139, signal SIGSEGV (Segmentation fault)");
  EXPECT_EQ(telling_line("bad data\n 12%|#   | 12/100 [00:01<00:09, 9.00it/s]"), "bad data");
  EXPECT_EQ(telling_line("terminate called after throwing 'std::runtime_error'\n"
                         "  what():  boom\nAborted"),
            "boom");
}

TEST(FailureReason, OfATracebackIsItsException) {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\n";
  EXPECT_EQ(telling_line(traceback + "ValueError: batch 512\nis too large\nbye"),
            "ValueError: batch 512");
  EXPECT_EQ(
      telling_line(traceback + "KeyError: 1\n\nDuring handling:\n\n" + traceback + "OSError: last"),
      "OSError: last");
  EXPECT_EQ(telling_line("[rank0]: Traceback (most recent call last):\n[rank0]:   File\n"
                         "[rank0]: RuntimeError: lost\n" +
                         traceback + "torch.distributed.elastic.errors.ChildFailedError: x"),
            "RuntimeError: lost");
  EXPECT_LT(telling_line(std::string(1000, 'x')).size(), 200u);
}

}  // namespace
}  // namespace sweetspot::workload::command
