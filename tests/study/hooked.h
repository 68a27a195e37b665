#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "workload/fake/fake.h"

namespace sweetspot::tests {

// A fake with a hook before each of its steps, which are counted: to press Ctrl-C in the middle of
// a round, or to lose the device.
class HookedWorkload : public workload::fake::FakeWorkload {
 public:
  using Hook = std::function<void(std::int64_t step)>;
  HookedWorkload(const workload::fake::Options& options, Hook hook)
      : FakeWorkload(options), hook_(std::move(hook)) {}

  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    return std::make_unique<Hooked>(FakeWorkload::open(setting), *this);
  }
  std::int64_t steps() const { return steps_; }

 private:
  struct Hooked final : workload::Session {
    Hooked(std::unique_ptr<workload::Session> its_inner, HookedWorkload& its_owner)
        : inner(std::move(its_inner)), owner(its_owner) {}
    trial::Step step(const workload::Until& until) override {
      if (owner.hook_) owner.hook_(owner.steps_);
      ++owner.steps_;
      return inner->step(until);
    }
    workload::Seen seen() const override { return inner->seen(); }
    std::unique_ptr<workload::Session> inner;
    HookedWorkload& owner;
  };

  Hook hook_;
  std::int64_t steps_ = 0;
};

// A session of one batch that reports the samples of another, as a program does that does not use
// what it is given.
struct ReportsAnotherBatch final : workload::Session {
  ReportsAnotherBatch(std::unique_ptr<workload::Session> its_inner, std::int64_t its_batch)
      : inner(std::move(its_inner)), batch(its_batch) {}
  trial::Step step(const workload::Until& until) override {
    trial::Step step = inner->step(until);
    step.samples = batch;
    return step;
  }
  workload::Seen seen() const override { return inner->seen(); }
  std::unique_ptr<workload::Session> inner;
  std::int64_t batch;
};

}  // namespace sweetspot::tests
