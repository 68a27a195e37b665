#pragma once
#include <atomic>
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
  Ended(trial::Outcome its_outcome, const std::string& note)
      : std::runtime_error(note), outcome(its_outcome) {}
  trial::Outcome outcome;
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

// A program's result on its test data; for a printed one, the caller knows which metric it is.
struct Metric {
  std::optional<double> accuracy, loss, printed;
  std::optional<double> noise_scale{};  // of the gradients until then, if a client reports them
};

// A GPU that a program was observed to use.
struct SeenGpu {
  std::string device;  // "cuda:0": the driver's number
  std::shared_ptr<const probe::gpu::Gpu> gpu;
  std::function<bool(std::int64_t pid)> is_own;  // is a process the program's; any thread
};

// "Run steps at this setting": what is measured. A session keeps one setting open, so that its
// start-up is paid once and its steps can be timed one by one.
class Session {
 public:
  virtual ~Session() = default;
  // Runs one weight update, or several that are worth timing together, and returns their time by
  // phase. `samples` is what they really used. Throws Ended if there is no further one.
  virtual trial::Step step() = 0;
  // Called periodically, while step() waits for the first one.
  virtual void while_waiting(std::function<void(const Waiting&)>) {}
  // Its current memory by use, if known to the byte.
  virtual std::optional<core::MemoryByUse> memory_by_use() const { return std::nullopt; }
  virtual std::optional<core::Bytes> memory() const {
    const auto by_use = memory_by_use();
    return by_use ? std::optional(by_use->total()) : std::nullopt;
  }
  // Whether it is idle until the next step(): a program keeps training meanwhile.
  virtual bool rests_between_steps() const { return true; }
  // How many of the first steps may find their data prefetched.
  virtual std::size_t loaded_ahead() const { return 0; }
  // How long reaching the steps of this setting again would take, if known.
  virtual std::optional<double> restart_seconds() const { return std::nullopt; }
  // Whether its memory still rises, long after its first steps: then this many seconds of steps
  // show whether its inputs vary. 0 if it does not.
  virtual double telling_seconds() const { return 0; }
  // The GPUs of a program with its own processes, so far. Their callbacks are valid only until
  // close().
  virtual std::vector<SeenGpu> gpus() const { return {}; }
  // The metrics it reported since the last call.
  virtual std::vector<Metric> take_metrics() { return {}; }
  // So far, besides the steps: those whose time is unknown, since an evaluation came in between.
  virtual std::int64_t untimed_updates() const { return 0; }
  // Ends it and reports. Called once, after the last step, whatever the outcome.
  virtual Account close() { return {}; }
};

class Workload {
 public:
  virtual ~Workload() = default;
  // For users: "paper-cnn on mnist".
  virtual std::string name() const = 0;
  // Where it runs: "cpu", "cuda:0".
  virtual std::string device() const { return "cpu"; }
  // The memory of a session at this setting, before anything runs; nullopt if unknown.
  virtual std::optional<core::Bytes> predict(const trial::Setting&) const { return std::nullopt; }
  // The memory of a whole training run at this setting, including its evaluation: what a memory
  // limit applies to.
  virtual std::optional<core::Bytes> predict_run(const trial::Setting& setting) const {
    return predict(setting);
  }
  // Samples of an epoch: no batch can be larger.
  virtual std::optional<std::int64_t> samples() const { return std::nullopt; }
  // How the batch is passed to a program that may ignore it: "as argument 3, behind --batch-size".
  // nullopt if it is known to arrive.
  virtual std::optional<std::string> batch_handover() const { return std::nullopt; }
  // Throws core::Error if the setting cannot be opened; std::bad_alloc and core::OutOfMemory become
  // the outcome out_of_memory.
  virtual std::unique_ptr<Session> open(const trial::Setting&) = 0;
  // Whether sessions of several settings may be open at the same time, over the same weights, and
  // are idle between steps: then their steps are interleaved.
  virtual bool opens_side_by_side() const { return false; }
  // False if its steps are in virtual time: no clock and no other load of this machine counts.
  virtual bool takes_real_time() const { return true; }
  // Whether a setting's workers and prefetch change how it loads.
  virtual bool has_loader() const { return false; }
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
  // of an epoch, and returns their total memory. nullopt if sessions do so themselves, as programs
  // do, or if nothing is evaluated. Throws as open() does.
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
  // After the last session: what was kept between sessions may begin to end, while the caller goes
  // on. Nothing is waited for.
  virtual void release() {}
  // Ends what it kept between sessions; InputError if that fails. After the last session.
  virtual void finish() {}
};

}  // namespace sweetspot::workload
