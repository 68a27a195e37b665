#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "trial/trial.h"

namespace sweetspot::workload {

// Where a training run stands, between two steps.
struct TrainingProgress {
  int epoch = 1;
  double epoch_share = 0;  // of the epoch, done
  double samples_per_second = 0;
};

// What hears of a run; called by the thread that trains.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void progress(const TrainingProgress&) {}  // some times a second
  virtual void epoch(const trial::Epoch&) {}         // whole ones only
  // After how many samples of the whole run it is evaluated next, besides after each epoch;
  // nothing: not before that. Asked when the run begins and after every evaluation.
  virtual std::optional<std::int64_t> evaluate_after() { return std::nullopt; }
  // Of every evaluation, in order; false ends the run as `ok`.
  virtual bool evaluated(const trial::Evaluation&) { return true; }
};

// What a run came to.
struct Trained {
  trial::Outcome outcome = trial::Outcome::ok;
  std::string note;  // why it is not `ok`
  std::int64_t steps = 0, samples = 0;
  std::optional<double> sharpness, end_train_loss;  // as the trial's, where they were asked for
  std::optional<core::Bytes> memory_measured;
  std::optional<core::MemoryByUse> memory_by_use;  // of it
  std::optional<core::Interval> noise_scale;       // see trial::Trial
};

// "Train so many epochs at this setting and evaluate after each": what a trial of epochs runs,
// where a Workload's session runs steps.
class Training {
 public:
  virtual ~Training() = default;
  virtual std::string device() const { return "cpu"; }
  // What this setting will take, evaluation included, before anything runs.
  virtual std::optional<core::Bytes> predict(const trial::Setting&) const { return std::nullopt; }
  // Samples of an epoch: no batch can be larger.
  virtual std::optional<std::int64_t> samples() const { return std::nullopt; }
  virtual std::optional<std::int64_t> test_samples() const { return std::nullopt; }
  // Begins with fresh weights, so that no trial depends on the ones before it. Ends early, as
  // `cancelled`, once `stop` is not zero. Throws as Workload::open does.
  virtual Trained train(const trial::Setting&, int epochs, TrainingObserver&,
                        const std::atomic<int>& stop) = 0;
  // False in virtual time: what else this machine does is nothing to it.
  virtual bool takes_real_time() const { return true; }
};

}  // namespace sweetspot::workload
