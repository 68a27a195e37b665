#include "measure/run_guarded.h"

#include <gtest/gtest.h>

#include <new>

#include "core/error.h"
#include "workload/workload.h"

namespace sweetspot::measure {
namespace {

using trial::Outcome;

template <class Thrown>
trial::Trial after(const Thrown& thrown) {
  trial::Trial trial;
  run_guarded(trial, [&] { throw thrown; });
  return trial;
}

TEST(RunGuarded, WhatGoesWellIsOk) {
  trial::Trial trial;
  bool ran = false;
  run_guarded(trial, [&] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_EQ(trial.outcome, Outcome::ok);
  EXPECT_EQ(trial.note, "");
}

TEST(RunGuarded, RefusedMemoryIsAType) {
  EXPECT_EQ(after(std::bad_alloc()).outcome, Outcome::out_of_memory);
  const trial::Trial refused = after(core::OutOfMemory("4 GiB were refused; use a smaller batch"));
  EXPECT_EQ(refused.outcome, Outcome::out_of_memory);
  EXPECT_EQ(refused.note, "4 GiB were refused; use a smaller batch");
}

// A GPU that fails while its memory is read is not a batch that does not fit.
TEST(RunGuarded, TheWordMemoryIsNot) {
  const trial::Trial failed =
      after(core::MachineError("the GPU failed when asked for its memory; look at nvidia-smi"));
  EXPECT_EQ(failed.outcome, Outcome::crashed);
  EXPECT_EQ(failed.note, "the GPU failed when asked for its memory; look at nvidia-smi");
  EXPECT_EQ(after(std::runtime_error("out of memory")).outcome, Outcome::crashed);
}

TEST(RunGuarded, AnEndingSaysItsOwnOutcome) {
  EXPECT_EQ(after(workload::Ended(Outcome::killed, "by signal 9")).outcome, Outcome::killed);
}

TEST(RunGuarded, ALostDevicePassesThrough) {
  trial::Trial trial;
  EXPECT_THROW(run_guarded(trial, [] { throw core::DeviceLost("the GPU was lost"); }),
               core::DeviceLost);
  EXPECT_EQ(trial.outcome, Outcome::ok) << "it says nothing of the trial";
}

}  // namespace
}  // namespace sweetspot::measure
