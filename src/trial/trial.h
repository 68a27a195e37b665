#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.h"
#include "core/interval.h"

namespace sweetspot::trial {

// One point to try.
struct Setting {
  std::int64_t batch = 1;
  std::int64_t accumulation = 1;
  std::string precision = "fp32";
  int workers = 1;
  int prefetch = 2;
  double learning_rate = 0.001;
  std::uint64_t seed = 1000;                  // of weights, shuffles and dropout; the paper's
  std::optional<double> power_limit_watts{};  // of each GPU; nothing: as it is set

  std::int64_t micro_batch() const { return batch / accumulation; }
  bool operator==(const Setting&) const = default;
};

enum class Outcome { ok, out_of_memory, timed_out, crashed, killed, refused, cancelled };
// `ended`: the program came to its own end before enough was known.
enum class StopReason { precise, noise_floor, max_steps, time_limit, ended };

// Where a step's time goes.
enum class Phase { data_wait, forward, backward, optimizer, overhead };
constexpr std::size_t phase_count = 5;
using PhaseSeconds = std::array<double, phase_count>;

std::string_view name(Outcome);
std::string_view name(StopReason);
std::string_view name(Phase);
// The inverse; nothing for a name that is none.
std::optional<Outcome> outcome_named(std::string_view);
std::optional<StopReason> stop_reason_named(std::string_view);

using core::Interval;

// One step as it was measured; warm-up steps and outliers are flagged, never dropped. Several
// weight updates that were timed together are one step here: a block of a round, or what a program
// that is only watched showed at once.
struct Step {
  double seconds = 0;
  std::int64_t samples = 0, updates = 1;
  PhaseSeconds phases{};
  bool warm_up = false, outlier = false;
  // The round of the study in which batches took turns; from 1, and 0 outside rounds. Blocks of one
  // round were measured within a second of each other.
  std::int32_t round = 0;
  // The machine was slower just before or after it than it can be: a neighbour shares its cores, or
  // they were moved apart, to other caches, for seconds. That is no noise that falls on all batches
  // alike: the fixed cost of a step grows several times as much as that of a sample, so that such
  // blocks are compared with none but each other.
  bool slowed = false;
};

// A block of a round that counts.
bool is_block(const Step& step);

// What one operation of a step took, and the least work that it is, whoever computes it.
struct OperationCost {
  std::string name;            // "conv2d"
  std::string implementation;  // "avx512 convolution and ReLU"
  double seconds = 0;
  double flops = 0, bytes = 0;
};

// What else the machine did meanwhile.
struct Contention {
  std::optional<double>
      cpu_pressure_share;                 // of the trial's time, some task waited for a CPU (PSI)
  std::optional<double> other_cpu_share;  // CPU time of other processes, as a share of all cores
  // Of the rounds, those in which a fixed computation was slower than it can be here: neighbours of
  // a virtual machine, throttled clocks. No operating system shows them.
  std::optional<double> slowed_share;
  std::optional<double> other_gpu_share;        // of the time, other processes used the trial's GPU
  std::optional<core::Bytes> other_gpu_memory;  // what they held on it
  std::string gpu_throttle;                     // what held its clocks back: "power cap"; or empty
  bool contended = false;
  std::string reason;  // why it counts as contended; empty where it does not
};

// The device at one moment of a trial; what it cannot tell is nothing.
struct Reading {
  double at_seconds = 0;                    // since the trial began
  std::optional<double> utilisation_share;  // busy time; of a CPU, of all its cores
  std::optional<core::Bytes> memory;        // what the trial's processes hold on the device
  std::optional<double> power_watts;
};

// What a trial that is only watched used of one GPU.
struct GpuUse {
  std::string device;                       // "cuda:0": the driver's number
  std::string name;                         // "NVIDIA H200"
  std::optional<core::Bytes> memory_peak;   // of the program's processes together
  std::optional<core::Bytes> memory_free;   // before the program began
  std::string memory_source;                // "NVML, of 2 processes"
  std::optional<double> utilisation_share;  // these four over the sampled steps
  std::optional<double> power_watts;
  std::optional<double> energy_joules;
  std::optional<double> core_clock_mhz;
  bool operator==(const GpuUse&) const = default;
};

// What a program said of its loss after so many steps.
struct Loss {
  std::int64_t step = 0;
  double value = 0;
  bool operator==(const Loss&) const = default;
};

// One epoch of a trial that trained rather than sampled steps.
struct Epoch {
  int epoch = 1;
  double train_seconds = 0;                          // of this epoch alone, evaluation apart
  std::optional<double> train_loss, train_accuracy;  // mean over the epoch, as the weights moved
  std::optional<double> test_loss, test_accuracy;    // after it
  std::optional<double> noise_scale{};               // tr(Σ)/|G|² in samples, at its end
};

// What a trial that trains had learned at some moment, between two weight updates.
struct Evaluation {
  std::int64_t steps = 0, samples = 0;             // trained on so far
  double train_seconds = 0;                        // so far, evaluations apart
  std::optional<double> test_loss, test_accuracy;  // of a program, whichever it reports
  std::optional<double> noise_scale;               // of the gradient, smoothed over the last steps
  bool operator==(const Evaluation&) const = default;
};

// One setting, run once.
struct Trial {
  std::int64_t id = 0;  // of the store; 0 before it is there
  Setting setting;
  std::string device = "cpu";  // or "cuda:0"
  Outcome outcome = Outcome::ok;
  std::optional<StopReason> stop_reason;
  std::optional<Interval> samples_per_second;
  std::optional<double> step_seconds_median;
  // Weight updates, and how often the clock was read over them: a log line, a redrawn bar or a
  // block of a round may stand for many. Those of the warm-up are apart.
  std::int64_t steps = 0, timings = 0, warm_up_steps = 0;
  std::int64_t outlier_steps = 0;  // of the timings
  std::int64_t samples_seen = 0;
  // What a program tells of its batch by itself: the steps that its counter ends at (of an epoch or
  // of the run), the samples of a step; or, where it counts samples and no steps, by how many that
  // count rises: those of one step or of several.
  std::optional<std::int64_t> steps_total, samples_per_step, sample_stride;
  std::optional<core::Bytes> memory_predicted, memory_measured;
  std::optional<core::MemoryByUse> memory_by_use;  // of what was measured, where it can be told
  // Of a program on a GPU, the memory above is that of its fullest GPU; this is the host's.
  std::optional<core::Bytes> host_memory;
  // The most that it could have had where it ran: free memory of the GPU, a cap that the program
  // set itself, or what its message told when it ran out.
  std::optional<core::Bytes> memory_capacity;
  // Of a trial that ran out of memory, at least what it would have taken.
  std::optional<core::Bytes> memory_wanted;
  // What it may take beyond its peak an hour later: growth and spread seen, fragmentation.
  std::optional<core::Bytes> memory_margin;
  bool inputs_vary = false;   // its steps take time and memory as inputs of varying length do
  std::string memory_source;  // how it was measured: "cgroup v2 memory.peak"; empty: to the byte
  std::string step_source;    // who counted: "tqdm bar", "client"; empty: our own engine
  std::optional<double> start_up_seconds;  // before the first step: imports, data, compilation
  std::optional<double> cpu_seconds;       // of the whole trial, all its processes
  std::optional<PhaseSeconds> phases;      // a mean step's, in seconds
  // Of the device, over the sampled steps; of a trial in rounds, over those outside of rounds,
  // whose blocks are too short for any reading.
  std::optional<double> energy_joules;
  std::optional<std::int64_t> energy_samples;  // of those steps
  std::vector<GpuUse> gpus;                    // of a program; empty where it used none
  // Of a program that tells its loss: after 1, 2, 5, 10, 20, 50, … steps, and the last one.
  std::vector<Loss> losses;
  // tr(Σ)/|G|² of its gradients in samples: of one that trained, at its end; of a program, as its
  // client told.
  std::optional<Interval> noise_scale;
  Contention contention;
  std::string note;           // why it ended as it did, one short line
  std::string last_output;    // the last lines of a program that failed, printable
  double started_at = 0;      // seconds since 1970
  double seconds = 0;         // wall time of the whole trial, warm-up and start-up included
  // Where its training ended, over a fixed set of training samples with dropout off: the largest
  // eigenvalue of the loss's Hessian, and the loss.
  std::optional<double> sharpness, end_train_loss;
  std::vector<Epoch> epochs;  // empty unless it trained
  std::vector<Evaluation> evaluations;  // of one that trained towards a target, in order
  std::vector<Step> raw;       // every step, in order; empty where only summaries were read
  std::vector<Reading> trace;  // readings beside the steps; empty likewise
};

// Over the steps whose energy was read; nothing where it was not.
std::optional<double> joules_per_sample(const Trial& trial);

// By how much the test loss is above the training loss where training ended.
std::optional<double> generalisation_gap(const Trial& trial);

}  // namespace sweetspot::trial
