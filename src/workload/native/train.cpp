#include "workload/native/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "workload/native/epochs.h"
#include "workload/native/ladder_speeds.h"
#include "workload/native/memory.h"
#include "workload/native/weights_file.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

constexpr core::Seconds progress_interval{0.05};

core::Seconds since(Clock::time_point start) { return Clock::now() - start; }

// One training run in progress.
class TrainingRun {
 public:
  TrainingRun(const Run& run, Observer& observer, const std::atomic<int>& stop)
      : run_(run),
        options_(run.options),
        observer_(observer),
        stop_(stop),
        epochs_(make_epochs(run, run.options, stop)),
        control_(run.options) {
    engine::Trainer& trainer = epochs_->trainer();
    if (options_.load) trainer.assign(load_weights(*options_.load, trainer.variables()));
  }

  Result run() {
    result_.predicted = predict(run_.network, options_, run_.dataset);
    if (options_.dynamic) control_.set_speeds(result_.speeds = ladder_speeds(*epochs_, options_));
    for (int epoch = 1; epoch <= options_.epochs && result_.status == Status::finished; ++epoch)
      run_epoch(epoch);
    if (options_.sharpness && result_.status == Status::finished) measure_end_point();
    if (options_.save && result_.status != Status::diverged)
      save_weights(*options_.save, run_.network.name, epochs_->trainer().variables());
    return std::move(result_);
  }

 private:
  void run_epoch(int number) {
    EpochResult epoch;
    epoch.epoch = number;
    choose_batch(number - 1);
    train_epoch(epoch);
    note_memory();
    if (options_.evaluate && result_.status != Status::cancelled &&
        result_.status != Status::diverged)
      evaluate(epoch);
    if (epoch.steps == 0) return;  // stopped before the first step: nothing to tell
    result_.epochs.push_back(epoch);
    observer_.epoch(epoch);
  }

  void train_epoch(EpochResult& epoch) {
    Sums sums;
    const auto start = Clock::now();
    auto told = start;
    epochs_->start(static_cast<std::uint32_t>(epoch.epoch - 1));
    while (may_go_on()) {
      const std::span<const Update> updates = epochs_->next(steps_left());
      if (updates.empty()) break;
      if (!take(updates, epoch, sums)) break;
      if (options_.batch_changes())
        choose_batch(epoch.epoch - 1 +
                     static_cast<double>(sums.samples) /
                         static_cast<double>(run_.dataset.train.count));
      if (since(told) >= progress_interval) {
        told = Clock::now();
        tell_progress(epoch, sums, since(start));
      }
    }
    if (stop_ != 0 && result_.status == Status::finished) result_.status = Status::cancelled;
    epoch.train_time = since(start);
    epoch.data_wait = epochs_->waited();
    epoch.samples = sums.samples;
    epoch.batch = batch_, epoch.noise_bound = control_.noise_scale();
    epoch.complete =
        sums.samples == samples_in_epoch(sums.samples) && result_.status != Status::diverged;
    if (sums.samples == 0) return;
    epoch.train_loss = sums.mean_loss();
    if (has_accuracy(run_.trainer.loss)) epoch.train_accuracy = sums.accuracy();
    if (epoch.complete && epoch.epoch == options_.epochs &&
        result_.status == Status::max_steps)  // it was the last step anyway
      result_.status = Status::finished;
  }

  // Of the next update, after so many epochs.
  void choose_batch(double epochs) {
    const std::optional<BatchChange> change = control_.after(epochs);
    if (!change) return;
    batch_ = change->batch;
    epochs_->set_batch(batch_);
    epochs_->trainer().set_learning_rate(change->learning_rate);
    result_.batches.push_back(*change);
  }

  // Where an epoch ends that so many samples are behind of.
  std::int64_t samples_in_epoch(std::int64_t done) const {
    const auto samples = static_cast<std::int64_t>(run_.dataset.train.count);
    return options_.pipeline.drop_last ? samples - (samples - done) % batch_ : samples;
  }

  // False when the loss has gone astray.
  bool take(std::span<const Update> updates, EpochResult& epoch, Sums& sums) {
    for (const Update& update : updates) {
      ++result_.steps, ++epoch.steps;
      result_.last_loss = update.result.loss;
      sums.add(update.result, update.samples);
      control_.add(update.result);
      if (std::isfinite(update.result.loss)) continue;
      result_.status = Status::diverged;
      return false;
    }
    return true;
  }

  std::int64_t steps_left() const {
    return options_.max_steps.value_or(std::numeric_limits<std::int64_t>::max()) - result_.steps;
  }

  bool may_go_on() {
    if (stop_ != 0)
      result_.status = Status::cancelled;
    else if (options_.max_steps && result_.steps >= *options_.max_steps)
      result_.status = Status::max_steps;
    return result_.status == Status::finished;
  }

  void evaluate(EpochResult& epoch) {
    const auto start = Clock::now();
    const Sums sums = epochs_->evaluate();
    if (stop_ != 0) {  // half an evaluation tells nothing
      result_.status = Status::cancelled;
      return;
    }
    note_memory();
    epoch.evaluation_time = since(start);
    if (sums.samples == 0) return;
    epoch.test_loss = sums.mean_loss();
    if (!std::isfinite(*epoch.test_loss)) {  // the last step went astray
      result_.status = Status::diverged;
      result_.last_loss = *epoch.test_loss;
    }
    if (has_accuracy(run_.trainer.loss)) epoch.test_accuracy = sums.accuracy();
  }

  void measure_end_point() {
    const data::Samples& train = run_.dataset.train;
    data::Pipeline samples(train, end_point_pipeline(train), &stop_);
    epochs_->trainer().evaluate_gradients({});  // of nothing: makes its plan
    epochs_->trainer().evaluate({});
    note_memory();
    result_.end_point = end_point(epochs_->trainer(), samples, stop_);
    if (!result_.end_point) result_.status = Status::cancelled;
  }

  void tell_progress(const EpochResult& epoch, const Sums& sums, core::Seconds elapsed) {
    Progress progress;
    progress.epoch = epoch.epoch;
    progress.epochs = options_.epochs;
    progress.samples = sums.samples;
    progress.samples_in_epoch = samples_in_epoch(sums.samples);
    progress.loss = sums.mean_loss();
    progress.samples_per_second = static_cast<double>(sums.samples) / elapsed.count();
    const int epochs_left = options_.epochs - epoch.epoch;
    std::int64_t samples_left =
        progress.samples_in_epoch - sums.samples + epochs_left * samples_in_epoch(0);
    if (options_.max_steps)
      samples_left = std::min(samples_left, (*options_.max_steps - result_.steps) * batch_);
    progress.left = core::Seconds(static_cast<double>(samples_left) / progress.samples_per_second);
    if (!result_.epochs.empty())
      progress.left += (epochs_left + 1) * result_.epochs.back().evaluation_time;
    observer_.progress(progress);
  }

  void note_memory() {
    const core::MemoryByUse now = epochs_->memory();
    if (now.total() > result_.measured.total()) result_.measured = now;
  }

  const Run& run_;
  const Options& options_;
  Observer& observer_;
  const std::atomic<int>& stop_;
  std::unique_ptr<Epochs> epochs_;
  BatchControl control_;
  std::int64_t batch_ = 0;  // none yet
  Result result_;
};

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::finished:
      return "finished";
    case Status::max_steps:
      return "max_steps";
    case Status::cancelled:
      return "cancelled";
    case Status::diverged:
      return "diverged";
  }
  return "";
}

Result train(const Run& run, Observer& observer, const std::atomic<int>& stop) {
  return TrainingRun(run, observer, stop).run();
}

}  // namespace sweetspot::workload::native
