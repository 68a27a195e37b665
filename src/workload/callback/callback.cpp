#include "workload/callback/callback.h"

#include <cxxabi.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "workload/out_of_memory.h"
#include "workload/steps_per_call.h"
#include "workload/workload.h"

namespace sweetspot::workload::callback {

void guarded(const std::function<void()>& call) {
  using trial::Outcome;
  try {
    call();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const Ended&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Ended(Outcome::out_of_memory, "the callback threw std::bad_alloc");
  } catch (const std::exception& error) {
    throw Ended(throws_out_of_memory(error.what()) ? Outcome::out_of_memory : Outcome::crashed,
                error.what());
  } catch (...) {
    throw Ended(Outcome::crashed, "the callback threw something that is no std::exception");
  }
}

namespace {

class CallbackSession : public Session {
 public:
  CallbackSession(const Functions& functions, const Clock& now, std::int64_t batch)
      : functions_(functions), now_(now), batch_(batch) {
    const double before = now_();
    if (functions_.prepare) guarded([&] { functions_.prepare(batch_); });
    start_up_seconds_ = now_() - before;
  }

  trial::Step step(const Until&) override {
    trial::Step step;
    step.updates = steps_per_call_.steps();
    step.samples = batch_ * step.updates;
    const double before = now_();
    try {
      guarded([&] { functions_.run(batch_, step.updates); });
    } catch (const Ended& ended) {
      if (ended.outcome == trial::Outcome::out_of_memory) lack_.read(ended.what());
      throw;
    }
    // No step is free, whatever a coarse clock says.
    step.seconds = std::max(now_() - before, 1e-9);
    if (functions_.data_wait_seconds) guarded([&] { divide(step); });
    steps_per_call_.took(step.seconds);
    return step;
  }

  Seen seen() const override {
    Seen seen;
    if (functions_.memory) guarded([&] { seen.memory = functions_.memory(); });
    return seen;
  }

  Account close() override {
    if (functions_.finish) functions_.finish();
    Account account;
    account.step_source = "callback";
    account.memory_wanted = lack_.wanted(false);
    account.memory_capacity = lack_.capacity(false);
    account.memory_source = functions_.memory_source;
    if (functions_.prepare) account.start_up_seconds = start_up_seconds_;
    return account;
  }

 private:
  // The time that is not data wait is not divided further: all of it is overhead.
  void divide(trial::Step& step) const {
    const double told = functions_.data_wait_seconds();
    const double wait = told > 0 ? std::min(told, step.seconds) : 0;  // NaN counts as none
    step.phases[static_cast<std::size_t>(trial::Phase::data_wait)] = wait;
    step.phases[static_cast<std::size_t>(trial::Phase::overhead)] = step.seconds - wait;
  }

  const Functions& functions_;
  const Clock& now_;
  std::int64_t batch_;
  double start_up_seconds_ = 0;
  StepsPerCall steps_per_call_;
  MemoryMessage lack_;  // of a batch that ran out of memory
};

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

CallbackWorkload::CallbackWorkload(std::string name, Functions functions, Clock now)
    : name_(std::move(name)), functions_(std::move(functions)), now_(std::move(now)) {}

std::unique_ptr<Session> CallbackWorkload::open(const trial::Setting& setting) {
  return std::make_unique<CallbackSession>(functions_, now_, setting.batch);
}

}  // namespace sweetspot::workload::callback
