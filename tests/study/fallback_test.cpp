// Settings that change in place, until they no longer do: the study goes on by starts, and keeps
// what it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "study/memory_store.h"
#include "tuning/tune.h"
#include "workload/fake/fake.h"

namespace sweetspot::study {
namespace {

using workload::fake::FakeWorkload;

// The knee of its steps is at 1,983. After `lasts` of them its settings do not change in place any
// more, and steps of a process of their own take longer.
class GivesWay final : public FakeWorkload {
 public:
  GivesWay(std::int64_t lasts, double longer)
      : FakeWorkload(machine()), lasts_(lasts), longer_(longer) {}
  workload::Switching switching() const override { return {.in_place = steps_ < lasts_}; }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    return std::make_unique<Counted>(FakeWorkload::open(setting), *this);
  }
  std::int64_t steps() const { return steps_; }
  int most_open_afterwards() const { return most_open_afterwards_; }

 private:
  static workload::fake::Options machine() {
    workload::fake::Options made;
    made.fixed_seconds = 1.4e-3, made.per_sample_seconds = 1e-5, made.noise_share = 0.01;
    made.samples = 8192;
    return made;
  }
  struct Counted final : workload::Session {
    Counted(std::unique_ptr<workload::Session> its_inner, GivesWay& its_owner)
        : inner(std::move(its_inner)), owner(its_owner), alone(!owner.switching().in_place) {
      ++owner.open_;
    }
    ~Counted() override { --owner.open_; }
    trial::Step step(const workload::Until& until) override {
      trial::Step step = inner->step(until);
      if (alone) step.seconds *= owner.longer_;
      ++owner.steps_;
      if (alone) owner.most_open_afterwards_ = std::max(owner.most_open_afterwards_, owner.open_);
      return step;
    }
    std::unique_ptr<workload::Session> inner;
    GivesWay& owner;
    bool alone;
  };

  std::int64_t lasts_, steps_ = 0;
  double longer_;
  int open_ = 0, most_open_afterwards_ = 0;
};

bool has_blocks(const trial::Trial& trial) {
  return std::ranges::any_of(trial.raw, [](const trial::Step& step) { return step.round > 0; });
}

struct FallingBack : testing::Test {
  FallingBack() { options.limits.max = 8192; }
  tuning::TuneResult run(workload::Workload& workload) {
    tests::MemoryWriter writer(kept);
    Observer quiet;
    const std::atomic<int> stop{0};
    return tune(workload, writer, options, quiet, stop);
  }
  tests::Kept kept;
  tuning::TuneOptions options;
};

TEST_F(FallingBack, ToStartsKeepsTheRoundsAndEndsWithTheSameAnswer) {
  for (const std::int64_t lasts : {1, 100, 400, 1000})
    for (const double longer : {1.0, 1.04}) {
      kept = {};
      GivesWay workload(lasts, longer);
      const tuning::TuneResult result = run(workload);
      EXPECT_EQ(result.answer.end, trial::End::found) << lasts;
      ASSERT_TRUE(result.recommendation()) << lasts;
      EXPECT_EQ(result.recommendation()->batch, 2048) << lasts << ", longer by " << longer;
      EXPECT_EQ(workload.most_open_afterwards(), 1) << "the others were closed";
      const auto in_rounds = std::ranges::count_if(kept.study.trials, has_blocks);
      EXPECT_GT(in_rounds, 0) << "what was measured stays";
      EXPECT_GT(std::ssize(kept.study.trials), in_rounds) << "and runs were added";
    }
}

// A batch of the rounds is started once, like any other; what was compared needs no second pass.
TEST_F(FallingBack, MeasuresNothingThatIsKnown) {
  GivesWay by_starts(0, 1), late(1000, 1);
  run(by_starts);
  const std::size_t starts = kept.study.trials.size();
  kept = {};
  run(late);
  const auto added = std::ranges::count_if(kept.study.trials, std::not_fn(has_blocks));
  EXPECT_LT(static_cast<std::size_t>(added), starts);
  std::map<std::int64_t, int> runs;
  for (const trial::Trial& trial : kept.study.trials)
    if (!has_blocks(trial)) ++runs[trial.setting.batch];
  for (const auto& [batch, count] : runs) EXPECT_LE(count, 2) << batch;
}

TEST_F(FallingBack, IsResumedWithoutAStep) {
  GivesWay workload(1000, 1.04);
  const tuning::TuneResult first = run(workload);
  GivesWay again(0, 1.04);
  const tuning::TuneResult second = run(again);
  EXPECT_EQ(again.steps(), 0);
  EXPECT_EQ(*second.recommendation(), *first.recommendation());
}

}  // namespace
}  // namespace sweetspot::study
