// Each fault in a real child, at batch 64; afterwards nothing of it is left, and batch 8 trains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <tuple>

#include "core/error.h"
#include "rendered.h"
#include "temporary_folder.h"
#include "words.h"
#include "workload/command/workload_support.h"

namespace sweetspot::workload::command {
namespace {

using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;
using trial::Outcome;

struct Fault {
  std::string name;
  Outcome outcome;
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.name; }

class Faults : public testing::TestWithParam<Fault> {};

TEST(Command, ARegexThatCostsTooMuchIsToldOf) {
  Options options = program("regex.py", {"{batch}"});
  options.steps_regex = R"((?:a|aa|a?a)+$)";
  CommandWorkload workload(options);
  const trial::Trial failed = measured(workload, at(8));
  EXPECT_EQ(failed.outcome, Outcome::refused);
  EXPECT_WORDS(tests::without_numbers(failed.note));
}

TEST_P(Faults, AreToldAsTheyAreAndLeaveNothing) {
  Options options = program("faulty.py", {GetParam().name, "{batch}"});
  options.terminal = Terminal::no;
  options.grace = core::Seconds(0.5);
  CommandWorkload workload(options);
  const trial::Trial failed = measured(workload, at(64));
  EXPECT_EQ(trial::name(failed.outcome), trial::name(GetParam().outcome)) << failed.note;
  if (failed.outcome != Outcome::ok) {
    EXPECT_WORDS(tests::without_numbers(failed.note));
  }
  EXPECT_LT(failed.note.size(), 1000u);
  EXPECT_EQ(processes_left(options), 0);

  const trial::Trial next = measured(workload, at(8));
  EXPECT_EQ(next.outcome, Outcome::ok) << next.note;
  EXPECT_EQ(next.step_source, "tqdm bar");
  EXPECT_EQ(processes_left(options), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    testing::Values(
        Fault{"exits_0_without_a_step", Outcome::refused}, Fault{"exits_1", Outcome::crashed},
        Fault{"exits_1_after_steps", Outcome::crashed},
        Fault{"cuda_out_of_memory", Outcome::out_of_memory},
        Fault{"catches_out_of_memory", Outcome::out_of_memory}, Fault{"is_killed", Outcome::killed},
        Fault{"segfaults", Outcome::crashed}, Fault{"leaves_a_grandchild", Outcome::ok},
        Fault{"floods", Outcome::refused}, Fault{"floods_beside_steps", Outcome::ok},
        Fault{"prints_rubbish", Outcome::ok}, Fault{"prints_rubbish_and_exits", Outcome::crashed},
        Fault{"closes_in_mid_line", Outcome::ok}, Fault{"says_rubbish", Outcome::ok},
        Fault{"tells_another_clock", Outcome::ok}, Fault{"changes_its_batch", Outcome::refused},
        Fault{"uses_another_batch", Outcome::refused},
        Fault{"runs_into_its_limit", Outcome::out_of_memory}),
    [](const auto& test) { return test.param.name; });

class Hangs : public testing::TestWithParam<Fault> {};

TEST_P(Hangs, AreTimedOutWithTheirLastOutput) {
  Options options = program("faulty.py", {GetParam().name, "{batch}"});
  options.timeout = core::Seconds(2);
  CommandWorkload workload(options);
  const trial::Trial failed = measured(workload, at(64));
  EXPECT_EQ(failed.outcome, Outcome::timed_out);
  EXPECT_WORDS(tests::without_numbers(failed.note));
  if (GetParam().name == "hangs") {
    EXPECT_EQ(failed.last_output, "about to hang");
  }
  EXPECT_EQ(processes_left(options), 0);
  EXPECT_EQ(measured(workload, at(8)).outcome, Outcome::ok);
}

INSTANTIATE_TEST_SUITE_P(All, Hangs,
                         testing::Values(Fault{"hangs", Outcome::timed_out},
                                         Fault{"hangs_after_steps", Outcome::timed_out}),
                         [](const auto& test) {
                           return test.param.name + std::to_string(test.index);
                         });

TEST(Fault, OfAMemoryLimitIsOutOfMemory) {
  Options options = program("faulty.py", {"takes_all_memory", "{batch}"});
  options.memory_limit = 256 * core::MiB;
  CommandWorkload workload(options);
  const trial::Trial failed = measured(workload, at(64));
  if (failed.outcome == Outcome::ok) GTEST_SKIP() << "no cgroup with a limit can be made here";
  EXPECT_EQ(trial::name(failed.outcome), trial::name(Outcome::out_of_memory)) << failed.note;
  EXPECT_EQ(processes_left(options), 0);
  EXPECT_EQ(measured(workload, at(8)).outcome, Outcome::ok);
}

TEST(Fault, NotesHaveNoSecrets) {
  Options options = program("faulty.py", {"exits_1", "{batch}"});
  options.environment.emplace_back("MY_TOKEN", "does not please");
  CommandWorkload workload(options);
  const trial::Trial failed = measured(workload, at(64));
  EXPECT_THAT(tests::found_in(failed.note, {"please", "topsecret"}), testing::IsEmpty());
  EXPECT_WORDS(failed.note);
}

TEST(Fault, RubbishIsPrintable) {
  CommandWorkload workload(program("faulty.py", {"prints_rubbish_and_exits", "{batch}"}));
  const trial::Trial failed = measured(workload, at(64));
  for (const std::string& text : {failed.note, failed.last_output}) {
    EXPECT_THAT(text, AllOf(HasSubstr("red"), HasSubstr("end")));
    for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20u);
  }
}

TEST(Fault, TheReasonIsShortAndTheLastLinesAreKeptAsTheyStood) {
  CommandWorkload workload(program("faulty.py", {"lacks_a_module", "{batch}"}));
  const trial::Trial failed = measured(workload, at(64));
  EXPECT_EQ(failed.note,
            "exit code 1: ModuleNotFoundError: No module named 'sweetspot_lacks_this'");
  EXPECT_THAT(failed.last_output, HasSubstr("standard output:\nabout to import\nstandard error:\n"
                                            "Traceback (most recent call last):\n  File "));
  EXPECT_THAT(failed.last_output, testing::EndsWith("\n" + failed.note.substr(13)));
  EXPECT_EQ(measured(workload, at(8)).last_output, "") << "nothing failed";
}

// Waiting for its end would let it write its checkpoint.
TEST(Fault, AProgramThatPrintsInVainIsEndedBeforeItsEnd) {
  const tests::TemporaryFolder folder;
  Options options = program("chatter.py", {"{batch}", (folder / "checkpoint").string()});
  options.timeout = core::Seconds(12), options.terminal = Terminal::no;
  CommandWorkload workload(options);
  std::vector<workload::Waiting> heard;
  workload::Until until;
  until.waiting = [&](const workload::Waiting& waiting) { heard.push_back(waiting); };
  const trial::Trial failed =
      measure::measure(workload, at(8), measure::MeasureOptions(), {}, until);
  EXPECT_EQ(failed.outcome, Outcome::refused);
  EXPECT_WORDS(tests::without_numbers(failed.note));
  EXPECT_THAT(failed.last_output, HasSubstr("all is well"));
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint"));
  ASSERT_FALSE(heard.empty());
  EXPECT_GT(heard.back().lines, 0);
  EXPECT_EQ(heard.back().last_line, "all is well");
}

TEST(Fault, AProgramThatIsNotThereIsNamedBeforeAnyTrial) {
  const auto refusal = [](const std::string& program, const char* folder = nullptr) {
    Options options;
    options.argv = {program, "{batch}"};
    if (folder) options.folder = folder;
    try {
      CommandWorkload workload(options);
    } catch (const core::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_WORDS(refusal("sweetspot-no-such-program"));
  EXPECT_WORDS(refusal("./no-such-program"));
  EXPECT_WORDS(refusal("/etc/passwd"));
  EXPECT_WORDS(refusal("true", "/no/such/folder"));
  EXPECT_EQ(refusal("true"), "");
  EXPECT_EQ(refusal("bin/true", "/usr"), "");
}

TEST(Fault, AProgramThatIsNotThereForItsTrialIsACrash) {
  Options options;
  options.argv = {"./no-such-program", "{batch}"};
  options.prepare = "true";  // which might have made it
  CommandWorkload workload(options);
  const trial::Trial failed = measured(workload, at(64));
  EXPECT_EQ(failed.outcome, Outcome::crashed);
  EXPECT_WORDS(failed.note);
}

TEST(Fault, AStopGivesUpAtOnce) {
  std::atomic<int> stop{0};
  Options options = program("faulty.py", {"hangs", "{batch}"});
  CommandWorkload workload(options);
  const auto session = workload.open(at(64));
  stop = 2;
  try {
    session->step({stop});
    FAIL() << "it went on";
  } catch (const Ended& ended) {
    EXPECT_EQ(ended.outcome, Outcome::cancelled);
  }
  session->close();
  EXPECT_EQ(processes_left(options), 0);
}

TEST(Fault, TheBudgetEndsAProgramThatShowsNothing) {
  Options options = program("faulty.py", {"hangs", "{batch}"});
  const core::Seconds budget(0.01);
  CommandWorkload workload(options);
  EXPECT_EQ(measured(workload, at(64), budget).outcome, Outcome::cancelled);
  EXPECT_EQ(processes_left(options), 0);
  options.prepare = "sleep 1000";
  CommandWorkload unprepared(options);
  EXPECT_EQ(measured(unprepared, at(64), budget).outcome, Outcome::cancelled);
  EXPECT_EQ(processes_left(options), 0);
}

// How it ends with the budget, and after how many steps.
std::pair<Outcome, int> end_by_budget(const Options& options, double seconds) {
  CommandWorkload workload(options);
  const auto session = workload.open(at(8));
  int steps = 0;
  Until until;
  until.deadline = deadline_in(core::Seconds(seconds));
  try {
    for (;; ++steps) session->step(until);
  } catch (const Ended& ended) {
    EXPECT_EQ(ended.reason, trial::StopReason::time_limit);
    return {ended.outcome, steps};
  }
}

TEST(Fault, WhatWasSeenBeforeTheBudgetsEndCounts) {
  const Options options = program("bar.py", {"{batch}"});
  auto [outcome, steps] = end_by_budget(options, 0.1);
  for (double seconds = 0.2; outcome == Outcome::cancelled; seconds *= 2) {  // it had to start
    EXPECT_LT(steps, 4);
    std::tie(outcome, steps) = end_by_budget(options, seconds);
  }
  EXPECT_EQ(outcome, Outcome::ok);
  EXPECT_GE(steps, 4);
  EXPECT_EQ(processes_left(options), 0);
}

}  // namespace
}  // namespace sweetspot::workload::command
