#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/units.h"

namespace sweetspot::data {

// Worker threads that fill slots ahead of one consumer. Work is handed out as numbered tickets and
// delivered in order, ticket t in slot t mod slots; the result does not depend on which worker
// fills which. Everything except sleep_unless_cancelled is for the consumer's thread. Allocates
// nothing once constructed.
class Ring {
 public:
  using Fill = std::function<void(std::int64_t ticket, std::size_t slot)>;

  // With no workers, next() itself calls `fill`. MachineError if threads cannot be created. Once
  // `stop` is not zero (a signal handler may set it), sleeps end and next() returns nullopt.
  Ring(int workers, std::size_t slots, Fill fill, const std::atomic<int>* stop = nullptr);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Abandons the tickets not yet delivered; returns when no worker is filling any more.
  void cancel();
  // Hands out tickets 0 … count - 1; only after construction or cancel().
  void start(std::int64_t count);
  // The slot of the next ticket, owned by the consumer until its next call; nullopt when all are
  // delivered. Rethrows what `fill` threw for this ticket; the rest is then abandoned.
  std::optional<std::size_t> next();

  // For `fill`: waits this long and returns true, or false immediately when the work is cancelled
  // or the stop is set.
  bool sleep_unless_cancelled(core::Seconds duration);

 private:
  struct Slot {
    bool filled = false;
    std::exception_ptr failure;
  };

  void work();
  void fill_one(std::unique_lock<std::mutex>& lock);
  bool has_work() const;
  bool stopped() const { return stop_ && *stop_ != 0; }
  void stop();

  const Fill fill_;
  const std::atomic<int>* const stop_;
  const std::int64_t slot_count_;
  std::mutex mutex_;  // guards everything below except the threads
  std::condition_variable work_to_do_, slot_filled_, idle_, cancelled_;
  std::vector<Slot> slots_;
  std::int64_t tickets_ = 0;    // of this start()
  std::int64_t taken_ = 0;      // by workers
  std::int64_t delivered_ = 0;  // to the consumer; it holds the last one
  int busy_ = 0;
  bool cancelling_ = false, stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sweetspot::data
