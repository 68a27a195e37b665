#pragma once
#include <sys/types.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/units.h"
#include "probe/gpu.h"
#include "trial/trial.h"

namespace sweetspot::workload::command::gpu {

// A GPU of this machine, or one of its MIG instances.
struct Device {
  std::string name;  // "cuda:0" by the driver's number, "cuda:0:1" of an instance
  std::shared_ptr<const probe::gpu::Gpu> gpu;
};

// All GPUs that a program might use. They are enumerated on a thread: a driver may take seconds to
// initialise, and most programs run without one.
class Gpus {
 public:
  Gpus();
  // The GPUs, if they are known within this time; else nullptr.
  const std::vector<Device>* within(core::Seconds time) const;

 private:
  std::shared_future<std::vector<Device>> found_;
};

// The processes of a program. Called by the watch's thread, and not after it was stopped.
struct Processes {
  std::function<bool(pid_t)> has;
  std::function<std::vector<pid_t>()> list;
};

// A program's use of one GPU.
struct Use {
  Device device;
  // The peak for this setting. nullopt for a process that has served others before, if it holds no
  // more than it did then: it may keep what it no longer uses.
  std::optional<core::Bytes> peak;
  core::Bytes free = 0, total = 0;  // free: to this program, when the setting began
  std::string source;               // of its peak
  bool lost = false;                // it answered once, and no longer does
};

// Samples the GPU memory of one program on its own thread, with at most a hundredth of a core. By
// the processes that the driver lists; if it lists none of the program's, as in many containers, by
// the growth of the GPU's memory since before the program started.
class Watch {
 public:
  // Before the program starts: existing memory is not the program's. Waits only briefly for the
  // driver.
  explicit Watch(const Gpus& gpus);
  ~Watch();  // stops
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void begin(Processes processes);  // the program runs
  // The same processes continue with another setting.
  void begin_setting();
  void look();  // immediately
  // Polls once more and ends the thread.
  void stop();

  bool owns(std::int64_t pid) const;  // from any thread
  std::vector<Use> uses() const;      // of the GPUs that it was observed to use
  // What is known to take most of a GPU at start: "JAX". Empty: nothing.
  std::string_view preallocator() const;

 private:
  struct State;  // of one GPU
  void take_stock();
  void run();
  void sample();
  void sample(State& state, double now);
  std::optional<core::Bytes> held(State& state, const probe::gpu::Memory& memory);
  std::optional<core::Bytes> growth(const State& state, const probe::gpu::Memory& memory,
                                    const std::vector<probe::gpu::Process>* listed);
  bool may_use_gpus(bool amd);

  const Gpus& gpus_;
  mutable std::mutex mutex_;  // guards everything below except the thread
  std::condition_variable changed_;
  std::vector<State> states_;
  bool took_stock_ = false, matched_ = false, begun_ = false, first_setting_ = true, end_ = false;
  struct Files {
    bool open = false;  // a process has the vendor's device open
    double next_look = 0;
  };
  std::array<Files, 2> files_;  // NVIDIA's and AMD's
  std::string_view preallocator_;
  Processes processes_;
  std::thread thread_;
};

// Peaks of a program's earlier trials on one GPU, by batch.
using History = std::map<std::int64_t, core::Bytes>;

// A trial's report on the GPUs of its program.
struct GpuAccount {
  std::vector<trial::GpuUse> gpus;
  // Of the fullest, which a larger batch overflows first. No peak if it is meaningless.
  std::optional<core::Bytes> peak, capacity;
  std::string source, note;
};
// `preallocator`: a detected library that takes most of a GPU at start. Equal memory at different
// batches shows the same: the trial is added to the history.
GpuAccount gpu_account(const std::vector<Use>& uses, std::string_view preallocator,
                       std::int64_t batch, History& history);

// Adds the use of another run of the same trial.
void add_run(const std::vector<trial::GpuUse>& more, std::vector<trial::GpuUse>& gpus);

}  // namespace sweetspot::workload::command::gpu
