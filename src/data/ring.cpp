#include "data/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace sweetspot::data {

Ring::Ring(int workers, std::size_t slots, Fill fill, const std::atomic<int>* stop)
    : fill_(std::move(fill)),
      stop_(stop),
      slot_count_(static_cast<std::int64_t>(slots)),
      slots_(slots) {
  threads_.reserve(static_cast<std::size_t>(workers));
  try {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    this->stop();
    throw core::MachineError(
        fmt::format("cannot start loader thread {} of {}: {}; use fewer --workers",
                    threads_.size() + 1, workers, error.what()));
  }
}

Ring::~Ring() { stop(); }

void Ring::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = cancelling_ = true;
  }
  work_to_do_.notify_all();
  cancelled_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Ring::cancel() {
  std::unique_lock lock(mutex_);
  cancelling_ = true;
  cancelled_.notify_all();
  idle_.wait(lock, [&] { return busy_ == 0; });
  cancelling_ = false;
  tickets_ = taken_ = delivered_ = 0;
  for (Slot& slot : slots_) slot = {};
}

void Ring::start(std::int64_t count) {
  {
    const std::lock_guard lock(mutex_);
    tickets_ = count;
  }
  work_to_do_.notify_all();
}

// The consumer holds the slot of the last ticket delivered; the slots ahead of it may be filled.
bool Ring::has_work() const {
  const std::int64_t held = delivered_ == 0 ? 0 : 1;
  return !cancelling_ && taken_ < tickets_ && taken_ < delivered_ - held + slot_count_;
}

void Ring::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_to_do_.wait(lock, [&] { return stopping_ || has_work(); });
    if (stopping_) return;
    fill_one(lock);
  }
}

void Ring::fill_one(std::unique_lock<std::mutex>& lock) {
  const std::int64_t ticket = taken_++;
  Slot& slot = slots_[static_cast<std::size_t>(ticket % slot_count_)];
  ++busy_;
  lock.unlock();
  std::exception_ptr failure;
  try {
    fill_(ticket, static_cast<std::size_t>(ticket % slot_count_));
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  slot = {true, std::move(failure)};
  if (--busy_ == 0) idle_.notify_one();
  slot_filled_.notify_one();
}

std::optional<std::size_t> Ring::next() {
  std::unique_lock lock(mutex_);
  if (delivered_ == tickets_) return std::nullopt;
  if (delivered_ > 0) slots_[static_cast<std::size_t>((delivered_ - 1) % slot_count_)] = {};
  const auto at = static_cast<std::size_t>(delivered_++ % slot_count_);
  work_to_do_.notify_one();
  if (threads_.empty()) fill_one(lock);
  slot_filled_.wait(lock, [&] { return slots_[at].filled; });
  if (stopped()) return std::nullopt;  // it may not be loaded
  if (const std::exception_ptr failure = std::exchange(slots_[at].failure, nullptr)) {
    lock.unlock();
    cancel();
    std::rethrow_exception(failure);
  }
  return at;
}

bool Ring::sleep_unless_cancelled(core::Seconds duration) {
  // The clock counts nanoseconds in 64 bits: 292 years. Longer times are cut to a year.
  constexpr core::Seconds longest{365.0 * 86400};
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::ceil<std::chrono::nanoseconds>(std::min(duration, longest));
  // A signal handler cannot wake a sleeper, so it polls.
  constexpr std::chrono::milliseconds look{50};
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (cancelling_ || stopped()) return false;
    if (now >= until) return true;
    cancelled_.wait_until(lock, stop_ ? std::min(until, now + look) : until);
  }
}

}  // namespace sweetspot::data
