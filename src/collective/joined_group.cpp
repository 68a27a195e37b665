#include "collective/joined_group.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "collective/functions.h"
#include "collective/shared_memory/shared_memory_sums.h"
#include "core/error.h"

namespace sweetspot::collective {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds nap{50};
// A rank that has waited this long, as ranks do while the first one decides, yields the core. Not
// sooner: MPI makes progress only inside calls, and with naps an all-reduce takes three times as
// long.
constexpr std::chrono::milliseconds patience{10};

// How often a rank that sleeps in an all-reduce checks that MPI still works.
constexpr std::chrono::milliseconds check_interval{1000};

std::optional<SharedMemorySums> shared_memory_sums(const SweetspotRanks& ranks, Sums sums) {
  if (sums == Sums::messages || ranks.size < 2 || ranks.local_size < ranks.size)
    return std::nullopt;
  std::vector<std::byte*> segments(static_cast<std::size_t>(ranks.size));
  if (ranks.share_memory(SharedMemorySums::segment_bytes(), segments.data()) != 0)
    return std::nullopt;
  return SharedMemorySums(std::move(segments), ranks.rank);
}

// MPI makes progress only inside calls. So while all-reduces are in flight, a thread of this group
// calls it every 50 µs: often enough for a network, and 1% of a core.
class Joined final : public JoinedGroup {
 public:
  Joined(const SweetspotRanks& ranks, Sums sums)
      : ranks_(ranks), in_memory_(shared_memory_sums(ranks, sums)), helper_([this] { help(); }) {}
  ~Joined() override { end_helper(); }

  int rank() const override { return ranks_.rank; }
  int size() const override { return ranks_.size; }
  int local_size() const override { return ranks_.local_size; }

  Ticket begin_all_reduce(std::span<float> values) override {
    if (in_memory_) return in_memory_->begin(values);
    std::unique_lock lock(mutex_);
    return begin(lock, [&](int number) {
      return ranks_.begin_all_reduce(number, values.data(), values.size());
    });
  }
  void wait(Ticket ticket) override {
    if (in_memory_) return wait_in_memory(ticket);
    std::unique_lock lock(mutex_);
    wait(lock, ticket);
  }
  void sum(std::span<double> values) override {
    if (in_memory_) return wait_in_memory(in_memory_->begin(values));
    std::unique_lock lock(mutex_);
    wait(lock, begin(lock, [&](int number) {
           return ranks_.begin_sum(number, values.data(), values.size());
         }));
  }
  void broadcast(std::span<float> values, int root) override {
    const std::lock_guard lock(mutex_);
    check(ranks_.broadcast(values.data(), values.size(), root), "broadcast");
  }
  void barrier() override {
    double nothing = 0;
    sum({&nothing, 1});
  }

  std::unique_ptr<SharedFloats> share(std::span<const float> values) override {
    const std::lock_guard lock(mutex_);
    void* shared = nullptr;
    check(ranks_.share(values.data(), values.size(), &shared), "window");
    ++windows_;
    wake_.notify_one();
    return std::make_unique<Window>(*this, shared);
  }

  void finish() override {
    end_helper();
    ranks_.finish();
  }
  void abandon(int exit_code, const std::string&) override {
    end_helper();
    ranks_.abandon(exit_code);
  }

 private:
  class Window final : public SharedFloats {
   public:
    Window(Joined& group, void* shared) : group_(group), shared_(shared) {}
    ~Window() override {
      const std::lock_guard lock(group_.mutex_);
      --group_.windows_;
      group_.ranks_.unshare(shared_);
    }
    std::uint64_t read(std::span<float> to) override {
      const std::lock_guard lock(group_.mutex_);
      std::uint64_t changes = 0;
      group_.check(group_.ranks_.read(shared_, to.data(), to.size(), &changes), "read");
      return changes;
    }
    std::uint64_t add(std::span<const float> values) override {
      const std::lock_guard lock(group_.mutex_);
      std::uint64_t before = 0;
      group_.check(group_.ranks_.add(shared_, values.data(), values.size(), &before), "accumulate");
      return before;
    }

   private:
    Joined& group_;
    void* shared_;
  };

  void wait_in_memory(Ticket ticket) {
    while (!in_memory_->wait(ticket, check_interval)) {
      const std::lock_guard lock(mutex_);
      check(ranks_.progress(), "all-reduce");
    }
  }

  template <class Begin>
  Ticket begin(std::unique_lock<std::mutex>& lock, Begin begin_number) {
    while (begun_ - done_ >= most_at_once) poll(lock);
    check(begin_number(number(begun_)), "all-reduce");
    wake_.notify_one();
    return begun_++;
  }
  void wait(std::unique_lock<std::mutex>& lock, Ticket ticket) {
    waiting_ = true;
    const auto start = Clock::now();
    while (done_ <= ticket) poll(lock, Clock::now() - start > patience);
    waiting_ = false;
    wake_.notify_one();
  }

  static int number(Ticket ticket) { return static_cast<int>(ticket % most_at_once); }

  void check(int error, const char* what) const {
    if (error == 0) return;
    std::array<char, 512> words{};
    ranks_.explain(error, words.data(), words.size());
    throw core::MachineError(
        fmt::format("MPI's {} failed on rank {} of {} ({}), as it does when another rank is lost; "
                    "see what that "
                    "one said",
                    what, ranks_.rank, ranks_.size, words.data()));
  }

  // All-reduces complete in any order but are reported in theirs.
  void test() {
    while (done_ < begun_) {
      int done = 0;
      check(ranks_.is_done(number(done_), &done), "all-reduce");
      if (!done) return;
      ++done_;
    }
  }
  void poll(std::unique_lock<std::mutex>& lock, bool patient = false) {
    test();
    lock.unlock();
    patient ? std::this_thread::sleep_for(nap) : std::this_thread::yield();
    lock.lock();
  }

  void help() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (waiting_ || (done_ == begun_ && windows_ == 0)) {
        wake_.wait(lock);
        continue;
      }
      try {
        done_ < begun_ ? test() : static_cast<void>(ranks_.progress());
      } catch (const core::Error&) {
        // The waiter gets the same error.
      }
      lock.unlock();
      std::this_thread::sleep_for(nap);
      lock.lock();
    }
  }
  void end_helper() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_one();
    if (helper_.joinable()) helper_.join();
  }

  const SweetspotRanks& ranks_;
  std::optional<SharedMemorySums> in_memory_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Ticket begun_ = 0, done_ = 0;
  int windows_ = 0;
  bool waiting_ = false, ending_ = false;
  std::thread helper_;
};

}  // namespace

std::filesystem::path mpi_library() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = program.parent_path();
  for (const auto& place : {folder, folder.parent_path() / SWEETSPOT_PLUGIN_FOLDER})
    if (const auto file = place / "libsweetspot_mpi.so"; std::filesystem::exists(file, error))
      return file;
  throw core::InputError(
      "this sweetspot was built without MPI, which ranks need; install libopenmpi-dev and "
      "openmpi-bin (scripts/setup does) and build it again");
}

std::unique_ptr<JoinedGroup> join_mpi(const std::filesystem::path& library, Sums sums) {
  // RTLD_GLOBAL: Open MPI's own components need its symbols.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    throw core::InputError(fmt::format(
        "MPI cannot be loaded ({}); install it (scripts/setup does), or run one rank alone",
        dlerror()));
  const auto join = reinterpret_cast<SweetspotJoin>(dlsym(handle, "sweetspot_join"));
  std::array<char, 512> reason{"it is of another sweetspot; build both again"};
  const SweetspotRanks* ranks = join ? join(reason.data(), reason.size()) : nullptr;
  if (!ranks || ranks->version != ranks_table_version)
    throw core::MachineError(
        fmt::format("the ranks could not meet through MPI ({})", reason.data()));
  return std::make_unique<Joined>(*ranks, sums);
}

}  // namespace sweetspot::collective
