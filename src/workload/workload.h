#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "probe/gpu.h"
#include "trial/answer_checks.h"
#include "trial/trial.h"

namespace sweetspot::workload {

// A session that cannot continue. `ok`: it ended normally, and what it did counts.
class Ended : public std::runtime_error {
 public:
  // `its_reason`: time_limit if the deadline of Until ended it, however much was measured until
  // then.
  Ended(trial::Outcome its_outcome, const std::string& note,
        trial::StopReason its_reason = trial::StopReason::ended)
      : std::runtime_error(note), outcome(its_outcome), reason(its_reason) {}
  trial::Outcome outcome;
  trial::StopReason reason;
};

// A session's final report.
struct Account : trial::SessionReport {
  std::optional<core::Bytes> memory_peak;
  bool inputs_vary = false;
  std::string device;  // where it ran, if only that shows it; empty: as the workload says
  std::string note;    // what the user should know even for a successful trial
  std::string last_output;
};

// The state of a program before its first step.
struct Waiting {
  double seconds = 0;      // since its start
  std::int64_t lines = 0;  // printed, without a recognised step
  std::string last_line;   // printable and short
};

// A GPU that a program was observed to use.
struct SeenGpu {
  std::string device;  // "cuda:0": the driver's number
  std::shared_ptr<const probe::gpu::Gpu> gpu;
  std::function<bool(std::int64_t pid)> is_own;  // is a process the program's; any thread
};

// How long a session may take for a step, as the study's loop decides.
struct Until {
  using Clock = std::chrono::steady_clock;

  // 1: no further trial; 2 or more: give up immediately. A session heeds it while it closes, too.
  const std::atomic<int>& stop = never;
  std::optional<Clock::time_point> deadline = {};
  // Called periodically, while step() waits for the first one.
  std::function<void(const Waiting&)> waiting = {};

  bool told_to_give_up() const { return stop.load(std::memory_order_relaxed) >= 2; }
  bool time_is_up() const { return deadline && Clock::now() >= *deadline; }

 private:
  static inline const std::atomic<int> never{0};
};

// What is visible of a session while it is open.
struct Seen {
  std::optional<core::Bytes> memory;
  std::optional<core::MemoryByUse> memory_by_use;  // if known to the byte
  std::size_t loaded_ahead = 0;           // so many of the first steps may find prefetched data
  std::optional<double> restart_seconds;  // to reach the steps of this setting again, if known
  // If its memory still rises, long after its first steps: this many seconds of steps show whether
  // its inputs vary. Else 0.
  double telling_seconds = 0;
  // Of a program with its own processes, so far. Their callbacks are valid only until close().
  std::vector<SeenGpu> gpus;
};

// "Run steps at this setting": what is measured. A session keeps one setting open, so that its
// start-up is paid once and its steps can be timed one by one.
class Session {
 public:
  virtual ~Session() = default;
  // Runs one weight update, or several that are worth timing together, and returns their time by
  // phase. `samples` is what they really used. Throws Ended if there is no further one.
  virtual trial::Step step(const Until&) = 0;
  trial::Step step() { return step(Until{}); }  // of a session that needs no limit
  virtual Seen seen() const { return {}; }
  // Ends it and reports. Called once, after the last step, whatever the outcome.
  virtual Account close() { return {}; }
};

using trial::Switching;

// What of a model's memory is meant.
enum class Extent {
  session,   // its steps
  whole_run  // a whole training run, including its evaluation: what a memory limit applies to
};

// What only a model of our own engines tells, beyond its steps.
class NativeProbes {
 public:
  virtual ~NativeProbes() = default;
  // The time of each operation of a step at this setting, from a few steps timed per operation;
  // empty if unknown.
  virtual std::vector<trial::OperationCost> operations(const trial::Setting&) { return {}; }
  // The gradient noise: at fresh weights, and after training at this setting for an epoch, or as
  // much of it as the time for both allows. No pass is larger than `most_samples`. nullopt if
  // unknown. Throws as open() does.
  virtual std::optional<trial::GradientNoise> gradient_noise(const trial::Setting&,
                                                             std::int64_t /*most_samples*/,
                                                             core::Seconds /*time*/,
                                                             const std::atomic<int>& /*stop*/) {
    return std::nullopt;
  }
  // This many steps at this setting from fresh weights, for its learning rate. Likewise.
  virtual std::optional<trial::RateRun> try_rate(const trial::Setting&, std::int64_t /*steps*/,
                                                 const std::atomic<int>& /*stop*/) {
    return std::nullopt;
  }
  // Evaluates the test data while all training memory of this setting is allocated, as at the end
  // of an epoch, and returns their total memory. nullopt if nothing is evaluated. Throws as open()
  // does.
  virtual std::optional<core::Bytes> evaluate(const trial::Setting&,
                                              const std::atomic<int>& /*stop*/) {
    return std::nullopt;
  }
  // For ranks that train together: their speed compared with a single one, in about this time.
  // nullopt for any other. Throws as open() does.
  virtual std::optional<trial::Scaling> scaling(const trial::Setting&, core::Seconds /*time*/,
                                                const std::atomic<int>& /*stop*/) {
    return std::nullopt;
  }
};

// What is fixed for all settings.
struct About {
  std::optional<std::int64_t> samples{};  // of an epoch: no batch can be larger
  // How the batch is passed to a program that may ignore it: "as argument 3, behind --batch-size".
  // nullopt if it is known to arrive.
  std::optional<std::string> batch_destination{};
  // False if its steps are in virtual time: no clock and no other load of this machine counts.
  bool takes_real_time = true;
  bool has_loader = false;          // a setting's workers and prefetch change how it loads
  bool rests_between_steps = true;  // a program keeps training between a session's steps
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::string name() const = 0;                 // for users: "paper-cnn on mnist"
  virtual std::string device() const { return "cpu"; }  // or "cuda:0"
  virtual About about() const { return {}; }
  // Throws core::Error if the setting cannot be opened; std::bad_alloc and core::OutOfMemory become
  // the outcome out_of_memory.
  virtual std::unique_ptr<Session> open(const trial::Setting&) = 0;
  virtual Switching switching() const { return {}; }
  // The memory at this setting, before anything runs; nullopt if unknown.
  virtual std::optional<core::Bytes> predict(const trial::Setting&, Extent) const {
    return std::nullopt;
  }
  std::optional<core::Bytes> predict(const trial::Setting& setting) const {
    return predict(setting, Extent::session);
  }
  virtual NativeProbes* probes() { return nullptr; }
  // After the last session: what was kept between sessions begins to end, while the caller goes on.
  // What is returned waits for it; InputError if that fails.
  virtual std::function<void(const Until&)> finish() {
    return [](const Until&) {};
  }
};

}  // namespace sweetspot::workload
