#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "convergence/noise_scale.h"
#include "core/buffer.h"
#include "core/units.h"
#include "trial/trial.h"
#include "workload/native/batch_control.h"
#include "workload/native/data_choice.h"
#include "workload/native/end_point.h"
#include "workload/native/options.h"

namespace sweetspot::workload::native {

// The state of a run, between two steps.
struct Progress {
  int epoch = 1, epochs = 1;
  std::int64_t samples = 0, samples_in_epoch = 0;
  double loss = 0;  // mean over the epoch so far
  double samples_per_second = 0;
  core::Seconds left{0};              // to the end of the run, at this speed
  std::optional<double> noise_scale;  // in samples, if measured and known
};

struct EpochResult {
  int epoch = 1;
  bool complete = false;  // false if --max-steps or a signal ended it early
  std::int64_t steps = 0, samples = 0;
  std::int64_t batch = 0;             // at its end
  std::optional<double> noise_bound;  // for a growing batch: lower bound of the noise scale
  std::optional<double> train_loss, train_accuracy;  // mean over the epoch, with changing weights
  std::optional<double> test_loss, test_accuracy;    // after the epoch
  core::Seconds train_time{0}, evaluation_time{0};
  core::Seconds data_wait{0};
  core::Seconds reduction_wait{0};  // of this rank, for the sums of the others' gradients
  std::optional<convergence::NoiseEstimate> noise;  // at its end, if measured

  double samples_per_second() const { return static_cast<double>(samples) / train_time.count(); }
  // In samples; nullopt if it is not measured, or not known yet.
  std::optional<double> noise_scale() const {
    return noise && noise->samples ? std::optional(noise->samples->mean) : std::nullopt;
  }
  double data_wait_share() const { return data_wait / train_time; }
  double reduction_wait_share() const { return reduction_wait / train_time; }
};

// `enough`: the observer ended it.
enum class Status { finished, max_steps, enough, cancelled, diverged };
std::string_view name(Status status);

struct Result {
  Status status = Status::finished;
  std::vector<EpochResult> epochs;
  std::vector<BatchChange> batches;       // the first one, and every change
  std::vector<convergence::Rung> speeds;  // of a dynamic batch's ladder, measured before it began
  std::int64_t steps = 0;  // weight updates made; the last one diverged if status says so
  double last_loss = 0;
  // For asynchronous ranks: how many updates were 0, 1, 2, … updates of others late.
  std::vector<std::int64_t> staleness;
  std::optional<EndPoint> end_point;      // if requested and training was completed
  core::MemoryByUse predicted, measured;  // before anything ran, and at the run's peak
};

// What the user sees of a run; called by the training thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void progress(const Progress&) {}  // twenty times a second at most
  virtual void epoch(const EpochResult&) {}
  // As in workload::TrainingObserver.
  virtual std::optional<std::int64_t> evaluate_after() { return std::nullopt; }
  virtual bool evaluated(const trial::Evaluation&) { return true; }
};

// Opened and checked, nothing allocated yet.
struct Run {
  Options options;
  model::Network network;
  engine::TrainerOptions trainer;
  data::Dataset dataset;
};
Run open(const Options& options, const Say& say);

// A trainer on the options' device, with no plan yet.
std::unique_ptr<engine::Trainer> make_trainer(const Run& run, const Options& options);

// Trains until the end, or until `stop` becomes non-zero. Weights are saved at the end, also when
// stopped, but never when the loss has diverged.
Result train(const Run& run, Observer& observer, const std::atomic<int>& stop);

}  // namespace sweetspot::workload::native
