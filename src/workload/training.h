#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "trial/trial.h"
#include "workload/workload.h"

namespace sweetspot::workload {

// The state of a training run, between two steps.
struct TrainingProgress {
  int epoch = 1;
  double epoch_share = 0;  // of the epoch, done
  double samples_per_second = 0;
};

// Receives the events of a run; called by the training thread.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void progress(const TrainingProgress&) {}  // several times a second
  virtual void epoch(const trial::Epoch&) {}         // complete ones only
  // After how many samples of the whole run the next evaluation is, in addition to each epoch's;
  // nullopt: not before that. Called when the run begins and after every evaluation.
  virtual std::optional<std::int64_t> evaluate_after() { return std::nullopt; }
  // For every evaluation, in order; false ends the run as `ok`.
  virtual bool evaluated(const trial::Evaluation&) { return true; }
};

// The result of a run.
struct Trained {
  trial::Outcome outcome = trial::Outcome::ok;
  std::string note;  // why it is not `ok`
  std::int64_t steps = 0, samples = 0;
  std::optional<double> sharpness, end_train_loss;  // as the trial's, if requested
  std::optional<core::Bytes> memory_measured;
  std::optional<core::MemoryByUse> memory_by_use;  // of it
  std::optional<core::Interval> noise_scale;       // see trial::Trial
};

// "Train this many epochs at this setting and evaluate after each": what a trial of epochs runs,
// where a Workload's session runs steps.
class Training {
 public:
  virtual ~Training() = default;
  virtual std::string device() const { return "cpu"; }
  // The memory of this setting, including evaluation, before anything runs.
  virtual std::optional<core::Bytes> predict(const trial::Setting&) const { return std::nullopt; }
  // Samples of an epoch: no batch can be larger.
  virtual std::optional<std::int64_t> samples() const { return std::nullopt; }
  virtual std::optional<std::int64_t> test_samples() const { return std::nullopt; }
  // Begins with fresh weights, so that no trial depends on earlier ones. Ends early, as
  // `cancelled`, once `until.stop` is not zero. Throws as Workload::open does.
  virtual Trained train(const trial::Setting&, int epochs, TrainingObserver&,
                        const Until& until) = 0;
  // False in virtual time: other load on this machine does not affect it.
  virtual bool takes_real_time() const { return true; }
};

}  // namespace sweetspot::workload
