#pragma once
#include <functional>
#include <optional>

#include "store/store.h"
#include "study/loop.h"

namespace sweetspot::sweep {

// A study whose settings several processes measure.
struct Shared {
  store::Queue& queue;
  const store::Store& store;
  core::Seconds beat_every{10};
};

// A loop's writer: what the loop saves becomes the trial of the current claim.
class ClaimedWriter : public store::Writer {
 public:
  explicit ClaimedWriter(store::Queue& queue) : queue_(queue) {}

  void take(const store::Claim& claim) { claim_ = claim; }
  void let_go();  // returns a claim without a trial to the queue

  const trial::Study& study() const override { return queue_.writer().study(); }
  // If a claim was lost to another process meanwhile, that one's trial counts.
  void save(std::span<trial::Trial> trials) override;
  void amend(const trial::Trial& trial) override { queue_.writer().amend(trial); }
  void set_answer(const std::string& answer) override { queue_.writer().set_answer(answer); }
  // While others continue, so does the study.
  void set_end(trial::End end) override;
  void set_running(std::int64_t) override {}  // the queue's attempts show it

 private:
  store::Queue& queue_;
  std::optional<store::Claim> claim_;
};

// Forwards events, and counts the steps of the running trial.
class StepCounter : public study::Observer {
 public:
  explicit StepCounter(study::Observer& next) : next_(next) {}
  std::int64_t steps() const { return steps_; }

  void resumed(std::span<const trial::Trial> trials) override { next_.resumed(trials); }
  void started(const trial::Setting& setting) override;
  void sight(const measure::TrialProgress& sight) override;
  void standing(const study::Standing& standing) override { next_.standing(standing); }
  void finished(const trial::Trial& trial) override { next_.finished(trial); }

 private:
  study::Observer& next_;
  std::atomic<std::int64_t> steps_ = 0;
};

// Claims settings until none is left, here or elsewhere, or the loop may not continue; `run` runs
// or refuses one in the loop, whose writer and observer these are. Sends heartbeats to the queue.
void work_off(const Shared& shared, ClaimedWriter& writer, const StepCounter& counter,
              study::Loop& loop, const std::function<void(const trial::Setting&)>& run);

}  // namespace sweetspot::sweep
