#include "workload/callback/callback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <stdexcept>

#include "workload/steps_per_call.h"

namespace sweetspot::workload::callback {
namespace {

using testing::ElementsAre;
using trial::Outcome;

// A program whose steps take a given time, by its own clock.
struct Program {
  double now = 0, update_seconds = 0.01;
  std::vector<std::int64_t> asked;  // updates of each call
  Functions functions;

  Program() {
    functions.run = [this](std::int64_t, std::int64_t updates) {
      asked.push_back(updates);
      now += update_seconds * static_cast<double>(updates);
    };
  }
  CallbackWorkload workload() {
    return CallbackWorkload("program", functions, [this] { return now; });
  }
};

trial::Setting at(std::int64_t batch) {
  trial::Setting setting;
  setting.batch = batch;
  return setting;
}

TEST(Callback, LongStepsComeOneByOne) {
  Program program;
  CallbackWorkload workload = program.workload();
  const auto session = workload.open(at(32));
  for (int i = 0; i < 3; ++i) {
    const trial::Step step = session->step();
    EXPECT_EQ(step.samples, 32);
    EXPECT_EQ(step.updates, 1);
    EXPECT_NEAR(step.seconds, 0.01, 1e-12);
  }
  EXPECT_THAT(program.asked, ElementsAre(1, 1, 1));
}

TEST(Callback, ShortStepsAreTimedTogether) {
  Program program;
  program.update_seconds = 2e-6;
  CallbackWorkload workload = program.workload();
  const auto session = workload.open(at(8));
  for (int i = 0; i < 10; ++i) session->step();
  const trial::Step step = session->step();
  EXPECT_GE(step.seconds, 1e-3);
  EXPECT_LE(step.seconds, 3e-3);
  EXPECT_EQ(step.samples, 8 * step.updates);
  EXPECT_NEAR(step.seconds / static_cast<double>(step.updates), 2e-6, 1e-12);
  EXPECT_EQ(program.asked.front(), 1);
  EXPECT_EQ(program.asked[9], program.asked[10]) << "it goes on growing";
}

TEST(Callback, ASlowFirstStepDoesNotDecide) {
  Program program;
  program.update_seconds = 5;
  CallbackWorkload workload = program.workload();
  const auto session = workload.open(at(8));
  session->step();
  program.update_seconds = 1e-6;
  for (int i = 0; i < 10; ++i) session->step();
  EXPECT_GE(session->step().seconds, 1e-3);
}

TEST(Callback, StepsThatTakeNoTimeAreBounded) {
  Program program;
  program.update_seconds = 0;
  CallbackWorkload workload = program.workload();
  const auto session = workload.open(at(1 << 30));
  for (int i = 0; i < 50; ++i) EXPECT_GT(session->step().seconds, 0);
  EXPECT_LE(program.asked.back(), 1 << 20);
}

TEST(Callback, HooksAreCalledInTurnAndTellOfThemselves) {
  Program program;
  std::vector<std::string> calls;
  program.functions.prepare = [&](std::int64_t batch) {
    calls.push_back("prepare " + std::to_string(batch));
    program.now += 3;
  };
  program.functions.finish = [&] { calls.push_back("finish"); };
  program.functions.memory = [] { return std::optional<core::Bytes>(core::GiB); };
  program.functions.data_wait_seconds = [] { return 0.004; };
  program.functions.memory_source = "the device";
  CallbackWorkload workload = program.workload();
  const auto session = workload.open(at(32));
  const trial::Step step = session->step();
  EXPECT_NEAR(step.phases[static_cast<std::size_t>(trial::Phase::data_wait)], 0.004, 1e-12);
  EXPECT_NEAR(step.phases[static_cast<std::size_t>(trial::Phase::overhead)], 0.006, 1e-12);
  EXPECT_EQ(session->seen().memory, core::GiB);
  const Account account = session->close();
  EXPECT_EQ(account.memory_source, "the device");
  EXPECT_EQ(account.step_source, "callback");
  EXPECT_EQ(account.start_up_seconds, 3);
  EXPECT_THAT(calls, ElementsAre("prepare 32", "finish"));
}

TEST(Callback, WaitsThatCannotBeAreLeftOut) {
  Program program;
  double wait = 0;
  program.functions.data_wait_seconds = [&] { return wait; };
  CallbackWorkload workload = program.workload();
  const auto session = workload.open(at(32));
  const auto waited = [&](double told) {
    wait = told;
    return session->step().phases[static_cast<std::size_t>(trial::Phase::data_wait)];
  };
  EXPECT_NEAR(waited(60), 0.01, 1e-12);
  EXPECT_EQ(waited(-1), 0);
  EXPECT_EQ(waited(std::numeric_limits<double>::quiet_NaN()), 0);
}

// What a session throws for an exception of the callback.
template <class Thrown>
Outcome outcome_of(const Thrown& thrown) {
  Program program;
  program.functions.run = [&](std::int64_t, std::int64_t) { throw thrown; };
  CallbackWorkload workload = program.workload();
  const auto session = workload.open(at(32));
  try {
    session->step();
  } catch (const Ended& ended) {
    return ended.outcome;
  }
  return Outcome::ok;
}

TEST(Callback, WhatItThrowsIsAnOutcome) {
  EXPECT_EQ(outcome_of(std::bad_alloc()), Outcome::out_of_memory);
  EXPECT_EQ(outcome_of(std::runtime_error("CUDA out of memory. Tried to allocate 2.00 GiB")),
            Outcome::out_of_memory);
  EXPECT_EQ(outcome_of(std::runtime_error(
                "[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory")),
            Outcome::out_of_memory);
  EXPECT_EQ(outcome_of(std::runtime_error("shapes do not match")), Outcome::crashed);
  EXPECT_EQ(outcome_of(42), Outcome::crashed);
}

TEST(Callback, AFailedPreparationIsAnOutcomeToo) {
  Program program;
  bool finished = false;
  program.functions.prepare = [](std::int64_t) { throw std::bad_alloc(); };
  program.functions.finish = [&] { finished = true; };
  CallbackWorkload workload = program.workload();
  try {
    workload.open(at(32));
    FAIL() << "it opened";
  } catch (const Ended& ended) {
    EXPECT_EQ(ended.outcome, Outcome::out_of_memory);
  }
  EXPECT_FALSE(finished) << "there was nothing to let go of";
}

}  // namespace
}  // namespace sweetspot::workload::callback
