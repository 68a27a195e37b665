#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "collective/mpi/functions.h"
#include "collective/mpi/mpi.h"
#include "core/error.h"

namespace sweetspot::collective {
namespace {

constexpr std::chrono::microseconds nap{50};

// MPI moves data while it is called only. So while reductions are under way, a thread of this group
// calls it every 50 µs: often enough for a network, and 1% of a core.
class Joined final : public MpiGroup {
 public:
  explicit Joined(const SweetspotMpi& mpi) : mpi_(mpi), helper_([this] { help(); }) {}
  ~Joined() override { end_helper(); }

  int rank() const override { return mpi_.rank; }
  int size() const override { return mpi_.size; }
  int local_size() const override { return mpi_.local_size; }

  Ticket begin_all_reduce(std::span<float> values) override {
    std::unique_lock lock(mutex_);
    while (begun_ - done_ >= most_at_once) poll(lock);
    check(mpi_.begin_all_reduce(number(begun_), values.data(), values.size()), "all-reduce");
    wake_.notify_one();
    return begun_++;
  }
  void wait(Ticket ticket) override {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    while (done_ <= ticket) poll(lock);
    waiting_ = false;
    wake_.notify_one();
  }
  void sum(std::span<double> values) override {
    const std::lock_guard lock(mutex_);
    check(mpi_.sum(values.data(), values.size()), "all-reduce");
  }
  void broadcast(std::span<float> values, int root) override {
    const std::lock_guard lock(mutex_);
    check(mpi_.broadcast(values.data(), values.size(), root), "broadcast");
  }
  void barrier() override {
    const std::lock_guard lock(mutex_);
    check(mpi_.barrier(), "barrier");
  }

  std::unique_ptr<SharedFloats> share(std::span<const float> values) override {
    const std::lock_guard lock(mutex_);
    void* shared = nullptr;
    check(mpi_.share(values.data(), values.size(), &shared), "window");
    ++windows_;
    wake_.notify_one();
    return std::make_unique<Window>(*this, shared);
  }

  void finish() override {
    end_helper();
    mpi_.finish();
  }
  void abandon(int exit_code, const std::string&) override {
    end_helper();
    mpi_.abandon(exit_code);
  }

 private:
  class Window final : public SharedFloats {
   public:
    Window(Joined& group, void* shared) : group_(group), shared_(shared) {}
    ~Window() override {
      const std::lock_guard lock(group_.mutex_);
      --group_.windows_;
      group_.mpi_.unshare(shared_);
    }
    std::uint64_t read(std::span<float> to) override {
      const std::lock_guard lock(group_.mutex_);
      std::uint64_t changes = 0;
      group_.check(group_.mpi_.read(shared_, to.data(), to.size(), &changes), "read");
      return changes;
    }
    std::uint64_t add(std::span<const float> values) override {
      const std::lock_guard lock(group_.mutex_);
      std::uint64_t before = 0;
      group_.check(group_.mpi_.add(shared_, values.data(), values.size(), &before), "accumulate");
      return before;
    }

   private:
    Joined& group_;
    void* shared_;
  };

  static int number(Ticket ticket) { return static_cast<int>(ticket % most_at_once); }

  void check(int error, const char* what) const {
    if (error == 0) return;
    std::array<char, 512> words{};
    mpi_.explain(error, words.data(), words.size());
    throw core::MachineError(fmt::format("MPI's {} failed on rank {} of {} ({}); are all ranks up?",
                                         what, mpi_.rank, mpi_.size, words.data()));
  }

  // Reductions end in any order and count in theirs.
  void test() {
    while (done_ < begun_) {
      int done = 0;
      check(mpi_.is_done(number(done_), &done), "all-reduce");
      if (!done) return;
      ++done_;
    }
  }
  void poll(std::unique_lock<std::mutex>& lock) {
    test();
    lock.unlock();
    std::this_thread::yield();
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
        done_ < begun_ ? test() : static_cast<void>(mpi_.progress());
      } catch (const core::Error&) {
        // Whoever waits for it meets the same error.
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

  const SweetspotMpi& mpi_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Ticket begun_ = 0, done_ = 0;
  int windows_ = 0;
  bool waiting_ = false, ending_ = false;
  std::thread helper_;
};

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  const int number = std::atoi(text);
  return number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<int> started_ranks() {
  // Open MPI's mpirun; MPICH's and Intel's, and srun --mpi=pmi2. Under srun --mpi=pmix the step's
  // own count tells; the batch script itself is no step.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const auto ranks = number_in(variable)) return ranks;
  if (std::getenv("PMIX_RANK") && number_in("SLURM_STEP_NUM_TASKS"))
    return number_in("SLURM_STEP_NUM_TASKS");
  return std::nullopt;
}

std::optional<std::filesystem::path> mpi_library() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = program.parent_path();
  for (const auto& place : {folder, folder.parent_path() / SWEETSPOT_PLUGIN_FOLDER})
    if (const auto file = place / "libsweetspot_mpi.so"; std::filesystem::exists(file, error))
      return file;
  return std::nullopt;
}

std::unique_ptr<MpiGroup> join_mpi() {
  const auto library = mpi_library();
  if (!library)
    throw core::InputError(
        "this sweetspot was built without MPI, which ranks need; install libopenmpi-dev and "
        "openmpi-bin (scripts/setup does) and build it again");
  return join_mpi(*library);
}

std::unique_ptr<MpiGroup> join_mpi(const std::filesystem::path& library) {
  // For all to see: Open MPI's own components look for it.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    throw core::InputError(fmt::format(
        "MPI cannot be loaded ({}); install openmpi-bin, or leave out --ranks", dlerror()));
  const auto join = reinterpret_cast<SweetspotJoinMpi>(dlsym(handle, "sweetspot_join_mpi"));
  std::array<char, 256> reason{"it is of another sweetspot"};
  const SweetspotMpi* mpi = join ? join(reason.data(), reason.size()) : nullptr;
  if (!mpi || mpi->version != mpi_table_version)
    throw core::MachineError(
        fmt::format("{} cannot be used ({}); build sweetspot again, on this machine",
                    library.filename().string(), reason.data()));
  return std::make_unique<Joined>(*mpi);
}

}  // namespace sweetspot::collective
