#include "sweep/queue_claims.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/error.h"

namespace sweetspot::sweep {
namespace {

// Sends a heartbeat for a claim every few seconds.
class Heart {
 public:
  Heart(const Shared& shared, const store::Claim& claim, const StepCounter& counter)
      : thread_([&shared, claim, &counter, this](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (
              !wake_.wait_for(lock, stop, shared.beat_every, [&] { return stop.stop_requested(); }))
            try {
              if (!shared.queue.beat(claim, counter.steps())) return;
            } catch (const core::Error&) {  // saving the trial meets it too, and reports it
            }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the others
};

// Until another process has finished, or is considered lost.
void wait_for_others() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

}  // namespace

void ClaimedWriter::let_go() {
  if (claim_) queue_.give_back(*std::exchange(claim_, std::nullopt));
}

void ClaimedWriter::save(std::span<trial::Trial> trials) {
  if (!claim_) return queue_.writer().save(trials);
  queue_.finish(*claim_, trials.front());
  claim_.reset();
}

void ClaimedWriter::set_end(trial::End end) {
  const store::QueueCount count = queue_.count();
  if (count.waiting + count.running == 0) queue_.writer().set_end(end);
}

void StepCounter::started(const trial::Setting& setting) {
  steps_ = 0;
  next_.started(setting);
}

void StepCounter::sight(const measure::TrialProgress& sight) {
  steps_ = sight.steps;
  next_.sight(sight);
}

void work_off(const Shared& shared, ClaimedWriter& writer, const StepCounter& counter,
              study::Loop& loop, const std::function<void(const trial::Setting&)>& run) {
  while (loop.may_go_on()) {
    const std::optional<store::Claim> claim = shared.queue.claim();
    if (claim) {
      writer.take(*claim);
      {
        const Heart heart(shared, *claim, counter);
        run(claim->setting);
      }
      writer.let_go();
    } else if (shared.queue.count().running == 0) {
      return;
    } else {
      wait_for_others();
    }
  }
}

}  // namespace sweetspot::sweep
