#include "collective/threads/threads.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "core/error.h"

namespace sweetspot::collective {
namespace {

// What each rank contributed to one call; the last one to arrive completes it.
struct Call {
  std::vector<void*> parts;
  int arrived = 0, left = 0;
  bool done = false;
};

// What all ranks share.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks) {}
  int ranks() const { return ranks_; }

  // `together` runs once, in the last rank's thread, when all have contributed their part.
  void begin(Group::Ticket call, int rank, void* part,
             const std::function<void(const std::vector<void*>&)>& together) {
    const std::lock_guard lock(mutex_);
    check();
    Call& c = calls_[call];
    c.parts.resize(static_cast<std::size_t>(ranks_));
    c.parts[static_cast<std::size_t>(rank)] = part;
    if (++c.arrived < ranks_) return;
    together(c.parts);
    c.done = true;
    changed_.notify_all();
  }
  void wait(Group::Ticket call) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_.at(call).done || reason_; });
    if (!calls_.at(call).done) check();
    if (++calls_.at(call).left == ranks_) calls_.erase(call);
  }
  void abandon(int rank, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!reason_) reason_ = "rank " + std::to_string(rank) + " ended: " + reason;
    changed_.notify_all();
  }

  std::mutex shared_mutex;
  std::vector<float> shared;
  std::uint64_t changes = 0;

 private:
  void check() const {
    if (reason_) throw core::MachineError(*reason_);
  }

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Group::Ticket, Call> calls_;
  std::optional<std::string> reason_;
};

class ThreadShared final : public SharedFloats {
 public:
  explicit ThreadShared(std::shared_ptr<Meeting> meeting) : meeting_(std::move(meeting)) {}
  std::uint64_t read(std::span<float> to) override {
    const std::lock_guard lock(meeting_->shared_mutex);
    std::ranges::copy(meeting_->shared, to.begin());
    return meeting_->changes;
  }
  std::uint64_t add(std::span<const float> changes) override {
    const std::lock_guard lock(meeting_->shared_mutex);
    std::ranges::transform(meeting_->shared, changes, meeting_->shared.begin(), std::plus<float>());
    return meeting_->changes++;
  }

 private:
  std::shared_ptr<Meeting> meeting_;
};

class ThreadGroup final : public Group {
 public:
  ThreadGroup(std::shared_ptr<Meeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return meeting_->ranks(); }
  int local_size() const override { return size(); }

  Ticket begin_all_reduce(std::span<float> values) override { return begin_sum(values); }
  void wait(Ticket ticket) override { meeting_->wait(ticket); }
  void sum(std::span<double> values) override { wait(begin_sum(values)); }
  void broadcast(std::span<float> values, int root) override {
    wait(begin(values.data(), [values, root](const std::vector<void*>& parts) {
      const auto* from = static_cast<const float*>(parts[static_cast<std::size_t>(root)]);
      for (void* part : parts)
        if (part != from) std::copy_n(from, values.size(), static_cast<float*>(part));
    }));
  }
  void barrier() override {
    wait(begin(nullptr, [](const std::vector<void*>&) {}));
  }
  std::unique_ptr<SharedFloats> share(std::span<const float> values) override {
    if (rank_ == 0) {
      const std::lock_guard lock(meeting_->shared_mutex);
      meeting_->shared.assign(values.begin(), values.end());
      meeting_->changes = 0;
    }
    barrier();
    return std::make_unique<ThreadShared>(meeting_);
  }
  void abandon(int, const std::string& reason) override { meeting_->abandon(rank_, reason); }

 private:
  using Together = std::function<void(const std::vector<void*>&)>;
  Ticket begin(void* part, const Together& together) {
    meeting_->begin(calls_, rank_, part, together);
    return calls_++;
  }
  // In rank order, whichever came last.
  template <class Value>
  Ticket begin_sum(std::span<Value> values) {
    return begin(values.data(), [values](const std::vector<void*>& parts) {
      auto* sums = static_cast<Value*>(parts.front());
      for (std::size_t rank = 1; rank < parts.size(); ++rank)
        std::transform(sums, sums + values.size(), static_cast<const Value*>(parts[rank]), sums,
                       std::plus<Value>());
      for (std::size_t rank = 1; rank < parts.size(); ++rank)
        std::copy_n(sums, values.size(), static_cast<Value*>(parts[rank]));
    });
  }

  std::shared_ptr<Meeting> meeting_;
  const int rank_;
  Ticket calls_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Group>> thread_groups(int ranks) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::unique_ptr<Group>> groups;
  for (int rank = 0; rank < ranks; ++rank)
    groups.push_back(std::make_unique<ThreadGroup>(meeting, rank));
  return groups;
}

std::unique_ptr<Group> alone() { return std::move(thread_groups(1).front()); }

}  // namespace sweetspot::collective
