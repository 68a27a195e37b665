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

// A GPU of this machine, or one of the instances (MIG) that it is divided into.
struct Device {
  std::string name;  // "cuda:0" by the driver's number, "cuda:0:1" of an instance
  std::shared_ptr<const probe::gpu::Gpu> gpu;
};

// All that a program might use. They are looked for on a thread: a driver may take seconds to wake
// up, and most programs run where there is none.
class Gpus {
 public:
  Gpus();
  // Those that there are, where that is known within so long; else nothing yet.
  const std::vector<Device>* within(core::Seconds time) const;

 private:
  std::shared_future<std::vector<Device>> found_;
};

// The processes of a program. Asked by the watch's thread, and no more once it was stopped.
struct Processes {
  std::function<bool(pid_t)> has;
  std::function<std::vector<pid_t>()> list;
};

// What a program holds on one GPU.
struct Use {
  Device device;
  // The most for this setting. Nothing of a process that has served others before, where it holds
  // as much as it did: it may keep what it no longer uses.
  std::optional<core::Bytes> peak;
  core::Bytes free = 0, total = 0;  // free: to this program, when the setting began
  std::string source;               // how its peak is known
  bool lost = false;                // it answered once, and no longer does
};

// Samples the GPU memory of one program on a thread of its own, for a hundredth of a core at most.
// By the processes that the driver lists; where it lists none of the program's, as in many a
// container, by what the GPU's memory grew since before the program began.
class Watch {
 public:
  // Before the program starts: what is there now is not the program's. Waits for the driver no
  // longer than a moment.
  explicit Watch(const Gpus& gpus);
  ~Watch();  // stops
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void begin(Processes processes);  // the program runs
  // The same processes go on with another setting.
  void begin_setting();
  void look();  // at once
  // Looks once more and ends the thread.
  void stop();

  bool owns(std::int64_t pid) const;  // for any thread
  std::vector<Use> uses() const;      // of the GPUs that it is seen to use
  // What is known to take most of a GPU at start, whatever it needs: "JAX". Empty: nothing.
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
  mutable std::mutex mutex_;  // of everything below but the thread
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

// What earlier trials of a program held: the most on one GPU, by batch.
using History = std::map<std::int64_t, core::Bytes>;

// What a trial tells of the GPUs that its program used.
struct GpuAccount {
  std::vector<trial::GpuUse> gpus;
  // Of the fullest: that which a larger batch overflows first. No peak where it means nothing.
  std::optional<core::Bytes> peak, capacity;
  std::string source, note;
};
// `preallocator`: what was seen that takes most of a GPU at start. So does whatever holds as much
// of it at one batch as at another: the trial is added to the history.
GpuAccount gpu_account(const std::vector<Use>& uses, std::string_view preallocator,
                       std::int64_t batch, History& history);

// Adds what another run of the same trial used.
void add_run(const std::vector<trial::GpuUse>& more, std::vector<trial::GpuUse>& gpus);

}  // namespace sweetspot::workload::command::gpu
