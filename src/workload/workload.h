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
#include "trial/gradient_noise.h"
#include "trial/scaling.h"
#include "trial/trial.h"

namespace sweetspot::workload {

// A session that cannot step any more. `ok`: it came to its proper end, and what it did counts.
class Ended : public std::runtime_error {
 public:
  Ended(trial::Outcome its_outcome, const std::string& note)
      : std::runtime_error(note), outcome(its_outcome) {}
  trial::Outcome outcome;
};

// What a session can tell when it is over.
struct Account {
  std::optional<core::Bytes> memory_peak;
  // See trial::Trial.
  std::optional<core::Bytes> host_memory, memory_capacity, memory_wanted, memory_margin;
  bool inputs_vary = false;
  std::vector<trial::GpuUse> gpus;
  std::vector<trial::Loss> losses;
  std::optional<core::Interval> noise_scale;
  std::string device;  // where it ran, where only that tells; empty: as the workload says
  std::string memory_source, step_source;
  std::optional<double> start_up_seconds, cpu_seconds;
  std::optional<std::int64_t> steps_total, samples_per_step, sample_stride;  // see trial::Trial
  std::string note;  // what the user should know even of a trial that went well
  std::string last_output;
};

// What a session hears of a program before its first step.
struct Waiting {
  double seconds = 0;      // since its start
  std::int64_t lines = 0;  // that it has printed, and no step was recognised in them
  std::string last_line;   // printable and short
};

// What a program found on its test data; of a printed one, which of them it is is known to whoever
// asked for it.
struct Metric {
  std::optional<double> accuracy, loss, printed;
};

// A GPU that a program is seen to use.
struct SeenGpu {
  std::string device;  // "cuda:0": the driver's number
  std::shared_ptr<const probe::gpu::Gpu> gpu;
  std::function<bool(std::int64_t pid)> is_own;  // whether a process is the program's; any thread
};

// "Run steps at this setting": what is measured. A session holds one setting open, so that its
// start-up is paid once and its steps can be timed one by one.
class Session {
 public:
  virtual ~Session() = default;
  // Runs one weight update, or several that are worth timing together, and says what they took,
  // phase by phase. `samples` is what they really used.
  // Throws Ended when there is no further one.
  virtual trial::Step step() = 0;
  // Tells now and then, while step() waits for the first one, what is going on.
  virtual void while_waiting(std::function<void(const Waiting&)>) {}
  // What it holds now, where that can be known to the byte, and for what.
  virtual std::optional<core::MemoryByUse> memory_by_use() const { return std::nullopt; }
  virtual std::optional<core::Bytes> memory() const {
    const auto by_use = memory_by_use();
    return by_use ? std::optional(by_use->total()) : std::nullopt;
  }
  // Whether it does nothing until the next step() is called: a program trains on meanwhile.
  virtual bool rests_between_steps() const { return true; }
  // How many of the first steps may find their data loaded already, whatever loading takes.
  virtual std::size_t loaded_ahead() const { return 0; }
  // How long it would take to come to the steps of this setting once more, where it is known.
  virtual std::optional<double> restart_seconds() const { return std::nullopt; }
  // False for steps in virtual time: what else this machine does is nothing to them.
  virtual bool takes_real_time() const { return true; }
  // Of a program that runs in processes of its own, by now. What they tell is for no longer than up
  // to close().
  virtual std::vector<SeenGpu> gpus() const { return {}; }
  // What it told of its test data since the last call.
  virtual std::vector<Metric> take_metrics() { return {}; }
  // Ends it and tells. Called once, after the last step, whatever the outcome.
  virtual Account close() { return {}; }
};

class Workload {
 public:
  virtual ~Workload() = default;
  // For people: "paper-cnn on mnist".
  virtual std::string name() const = 0;
  // Where it runs: "cpu", "cuda:0".
  virtual std::string device() const { return "cpu"; }
  // What a session at this setting will take, before anything runs; nothing when it cannot be told.
  virtual std::optional<core::Bytes> predict(const trial::Setting&) const { return std::nullopt; }
  // What a whole training run at this setting takes, its evaluation included: what a memory limit
  // is held against.
  virtual std::optional<core::Bytes> predict_run(const trial::Setting& setting) const {
    return predict(setting);
  }
  // Samples of an epoch: no batch can be larger.
  virtual std::optional<std::int64_t> samples() const { return std::nullopt; }
  // How the batch is handed to a program that may as well not use it: "as argument 3, behind
  // --batch-size". Nothing where it is known to arrive.
  virtual std::optional<std::string> batch_handover() const { return std::nullopt; }
  // Throws core::Error when the setting cannot be opened; std::bad_alloc and core::OutOfMemory
  // become the outcome out_of_memory.
  virtual std::unique_ptr<Session> open(const trial::Setting&) = 0;
  // Whether sessions of several settings may be open at the same time, over the same weights, and
  // rest until they step: their steps are then measured in turns.
  virtual bool opens_side_by_side() const { return false; }
  // Whether a setting's workers and prefetch change how it loads.
  virtual bool has_loader() const { return false; }
  // What each operation of a step at this setting takes, by a few steps taken apart; empty where
  // that cannot be told.
  virtual std::vector<trial::OperationCost> operations(const trial::Setting&) { return {}; }
  // How noisy its gradients are: at fresh weights, and after a training at this setting of an epoch
  // or as much of it as the time for both allows. No pass is of more than `most_samples`. Nothing
  // where it cannot be told. Throws as open() does.
  virtual std::optional<trial::GradientNoise> gradient_noise(const trial::Setting&,
                                                             std::int64_t /*most_samples*/,
                                                             core::Seconds /*time*/,
                                                             const std::atomic<int>& /*stop*/) {
    return std::nullopt;
  }
  // So many steps at this setting from fresh weights, for its learning rate. Likewise.
  virtual std::optional<trial::RateRun> try_rate(const trial::Setting&, std::int64_t /*steps*/,
                                                 const std::atomic<int>& /*stop*/) {
    return std::nullopt;
  }
  // Evaluates the test data beside all that a training at this setting holds, as the end of an
  // epoch does, and tells what they take together. Nothing where sessions do so by themselves, as
  // programs do, or where nothing is evaluated. Throws as open() does.
  virtual std::optional<core::Bytes> evaluate(const trial::Setting&,
                                              const std::atomic<int>& /*stop*/) {
    return std::nullopt;
  }
  // Of ranks that train together: how fast they are beside one of them alone, in about so long.
  // Nothing for any other. Throws as open() does.
  virtual std::optional<trial::Scaling> scaling(const trial::Setting&, core::Seconds /*time*/,
                                                const std::atomic<int>& /*stop*/) {
    return std::nullopt;
  }
  // Ends what it kept between sessions; InputError when that fails. After the last session.
  virtual void finish() {}
};

}  // namespace sweetspot::workload
