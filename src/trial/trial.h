#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "core/interval.h"
#include "trial/setting.h"

namespace sweetspot::trial {

enum class Outcome { ok, out_of_memory, timed_out, crashed, killed, refused, cancelled };
// `ended`: the program ended before enough was known.
enum class StopReason { precise, noise_floor, max_steps, time_limit, ended };

// Where a step's time goes.
enum class Phase { data_wait, forward, backward, optimizer, overhead };
constexpr std::size_t phase_count = 5;
using PhaseSeconds = std::array<double, phase_count>;

std::string_view name(Outcome);
std::string_view name(StopReason);
std::string_view name(Phase);
// The inverse; nullopt for an unknown name.
std::optional<Outcome> outcome_named(std::string_view);
std::optional<StopReason> stop_reason_named(std::string_view);

using core::Interval;

// One measured step; warm-up steps and outliers are flagged, never dropped. Several weight updates
// that were timed together are one step here: a block of a round, or what an observed program
// showed at once.
struct Step {
  double seconds = 0;
  std::int64_t samples = 0, updates = 1;
  PhaseSeconds phases{};
  bool warm_up = false, outlier = false;
  // The round of the study in which batches were interleaved; from 1, and 0 outside rounds. Blocks
  // of one round were measured within a second of each other.
  std::int32_t round = 0;
  // The machine was slower than its baseline just before or after it: a neighbour shares its cores,
  // or they were moved apart, to other caches, for seconds. This noise does not affect all batches
  // alike: the fixed cost of a step grows several times as much as that of a sample, so such blocks
  // are compared only with each other.
  bool slowed = false;
};

// A block of a round that counts.
bool is_block(const Step& step);

// The time of one operation of a step, and its lower bound of work on any engine.
struct OperationCost {
  std::string name;            // "conv2d"
  std::string implementation;  // "avx512 convolution and ReLU"
  double seconds = 0;
  double flops = 0, bytes = 0;
};

// The machine's other load meanwhile.
struct Contention {
  std::optional<double>
      cpu_pressure_share;                 // of the trial's time, some task waited for a CPU (PSI)
  std::optional<double> other_cpu_share;  // CPU time of other processes, as a share of all cores
  // The share of rounds in which a fixed computation was slower than its baseline: neighbours of a
  // virtual machine, throttled clocks. No operating system reports them.
  std::optional<double> slowed_share;
  std::optional<double> other_gpu_share;        // of the time, other processes used the trial's GPU
  std::optional<core::Bytes> other_gpu_memory;  // their memory on it
  std::string gpu_throttle;                     // why its clocks were throttled: "power cap"
  bool contended = false;
  std::string reason;  // why it counts as contended; else empty
};

// The device at one moment of a trial; unknown values are nullopt.
struct Reading {
  double at_seconds = 0;                    // since the trial began
  std::optional<double> utilisation_share;  // busy time; of a CPU, of all its cores
  std::optional<core::Bytes> memory;        // of the trial's processes on the device
  std::optional<double> power_watts;
};

// What an observed program used of one GPU.
struct GpuUse {
  std::string device;                       // "cuda:0": the driver's number
  std::string name;                         // "NVIDIA H200"
  std::optional<core::Bytes> memory_peak;   // of the program's processes together
  std::optional<core::Bytes> memory_free;   // before the program started
  std::string memory_source;                // "NVML, of 2 processes"
  std::optional<double> utilisation_share;  // these four over the sampled steps
  std::optional<double> power_watts;
  std::optional<double> energy_joules;
  std::optional<double> core_clock_mhz;
  bool operator==(const GpuUse&) const = default;
};

// A program's loss after this many steps.
struct Loss {
  std::int64_t step = 0;
  double value = 0;
  bool operator==(const Loss&) const = default;
};

// One epoch of a trial that trained rather than sampled steps.
struct Epoch {
  int epoch = 1;
  double train_seconds = 0;                          // of this epoch alone, without evaluation
  std::optional<double> train_loss, train_accuracy;  // mean over the epoch, with changing weights
  std::optional<double> test_loss, test_accuracy;    // after it
  std::optional<double> noise_scale{};               // tr(Σ)/|G|² in samples, at its end
};

// The state of a trial that trains at some moment, between two weight updates.
struct Evaluation {
  std::int64_t steps = 0, samples = 0;             // trained on so far
  double train_seconds = 0;                        // so far, without evaluations
  std::optional<double> test_loss, test_accuracy;  // for a program, whichever it reports
  std::optional<double> noise_scale;               // of the gradient, smoothed over the last steps
  bool operator==(const Evaluation&) const = default;
};

// Where steps were counted, by its text as stored and shown: "tqdm bar", "client (python)"; empty
// for our own engine.
struct StepsFrom {
  enum class Kind { engine, callback, client, bar, log_lines, whole_runs };
  std::string text;

  StepsFrom() = default;
  StepsFrom(const char* its_text) : text(its_text) {}
  StepsFrom(std::string its_text) : text(std::move(its_text)) {}
  static StepsFrom client(const std::string& name);  // which may be empty
  Kind kind() const;
  bool operator==(const StepsFrom&) const = default;
};

// What a session reports at its end besides its steps; for the most part, a program's.
struct SessionReport {
  // What a program shows of its batch: the final count of its steps (of an epoch or of the run),
  // the samples per step; or, if it counts samples and no steps, the increment of that count: the
  // samples of one step or of several.
  std::optional<std::int64_t> steps_total, samples_per_step, sample_stride;
  // For a program on a GPU, a trial's memory is that of its fullest GPU; this is the host's.
  std::optional<core::Bytes> host_memory;
  // The most that it could have had: free memory of the GPU, a cap that the program set itself, or
  // the value in its out-of-memory message.
  std::optional<core::Bytes> memory_capacity;
  // For a trial that ran out of memory, a lower bound of what it would have taken.
  std::optional<core::Bytes> memory_wanted;
  // What it may take beyond its peak an hour later: observed growth and spread, fragmentation.
  std::optional<core::Bytes> memory_margin;
  std::string memory_source;  // how it was measured: "cgroup v2 memory.peak"; empty: to the byte
  StepsFrom step_source;
  bool in_same_process = false;            // as the trial before it, which went on
  std::optional<double> start_up_seconds;  // before the first step: imports, data, compilation
  std::optional<double> cpu_seconds;       // of the whole trial, all its processes
  std::vector<GpuUse> gpus;                // of a program; empty if it used none
  // For a program that reports its loss: after 1, 2, 5, 10, 20, 50, … steps, and the last one.
  std::vector<Loss> losses;
  // tr(Σ)/|G|² of its gradients in samples: for one that trained, at its end; for a program, as
  // reported by its client.
  std::optional<Interval> noise_scale;
};

// One setting, run once.
struct Trial : SessionReport {
  std::int64_t id = 0;  // in the store; 0 before it is saved
  Setting setting;
  std::string device = "cpu";  // or "cuda:0"
  Outcome outcome = Outcome::ok;
  std::optional<StopReason> stop_reason;
  std::optional<Interval> samples_per_second;
  std::optional<double> step_seconds_median;
  // Weight updates, and how often the clock was read over them: a log line, a redrawn bar or a
  // block of a round may cover many. Those of the warm-up are separate.
  std::int64_t steps = 0, timings = 0, warm_up_steps = 0;
  std::int64_t outlier_steps = 0;  // of the timings
  std::int64_t samples_seen = 0;
  std::optional<core::Bytes> memory_predicted, memory_measured;
  std::optional<core::MemoryByUse> memory_by_use;  // of the measured memory, if known
  bool inputs_vary = false;  // its steps vary in time and memory as with inputs of varying length
  std::optional<PhaseSeconds> phases;  // a mean step's, in seconds
  // Of the device, over the sampled steps; for a trial in rounds, over steps outside the rounds,
  // whose blocks are too short for a reading.
  std::optional<double> energy_joules;
  std::optional<std::int64_t> energy_samples;  // of those steps
  Contention contention;
  std::string note;         // why it ended, one short line
  std::string last_output;  // the last lines of a program that failed, printable
  double started_at = 0;    // seconds since 1970
  double seconds = 0;       // wall time of the whole trial, including warm-up and start-up
  // Where its training ended, over a fixed set of training samples with dropout off: the largest
  // eigenvalue of the loss's Hessian, and the loss.
  std::optional<double> sharpness, end_train_loss;
  std::vector<Epoch> epochs;            // empty unless it trained
  std::vector<Evaluation> evaluations;  // of one that trained towards a target, in order
  std::vector<Step> raw;                // every step, in order; empty if only summaries were read
  std::vector<Reading> trace;           // readings during the steps; empty likewise
};

// Over the steps with an energy reading; nullopt without one.
std::optional<double> joules_per_sample(const Trial& trial);

// The test loss minus the training loss where training ended.
std::optional<double> generalisation_gap(const Trial& trial);

// What the batch of a program on several GPUs refers to: all of them together, or each. `unsaid`
// counts as the first.
enum class BatchIs { unsaid, global, per_gpu };

// The GPU that a larger batch overflows first, by its use of what was free; nullptr if there is
// none, or nothing is known.
const GpuUse* fullest(const std::vector<GpuUse>& gpus);

// "cuda:0,1": the device of a trial on these GPUs. Empty for none.
std::string device_of(const std::vector<GpuUse>& gpus);

bool on_gpu(std::string_view device);

// "cuda:0 (NVIDIA H200)".
std::string full_name(const GpuUse& gpu);

}  // namespace sweetspot::trial
