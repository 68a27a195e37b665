#pragma once
#include <sys/types.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "trial/trial.h"
#include "workload/command/gpu/gpus.h"

namespace sweetspot::workload::command::gpu {

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

}  // namespace sweetspot::workload::command::gpu
