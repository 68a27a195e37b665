#include "workload/native/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "workload/native/epochs.h"
#include "workload/native/memory.h"
#include "workload/native/weights_file.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

constexpr core::Seconds progress_interval{0.05};

core::Seconds since(Clock::time_point start) { return Clock::now() - start; }

// The minimum time of an update: contention only adds to it, so two similar minima are no accident.
// nullopt once stopped.
std::optional<double> update_seconds(Epochs& epochs, std::int64_t batch) {
  constexpr int most = 40;
  constexpr double alike = 1.03, enough_seconds = 0.02, most_seconds = 1;
  epochs.set_batch(batch);
  epochs.start(0);
  std::vector<double> times;
  double seconds = 0;
  for (int i = 0; i < most && seconds < most_seconds; ++i) {
    const auto begin = Clock::now();
    const auto updates = epochs.next(1);
    // An epoch's end: the last batch may be smaller.
    if (updates.empty() || updates.front().samples < batch) break;
    const double took = core::Seconds(Clock::now() - begin).count();
    if (i == 0) continue;  // its memory was cold
    times.push_back(took), seconds += took;
    std::ranges::sort(times);
    if (times.size() > 2 && times[1] < alike * times[0] && seconds >= enough_seconds) break;
  }
  if (times.empty()) return std::nullopt;
  return times.front();
}

// The speed of each batch of the options' ladder, from a few updates of each, whose effect on the
// weights is undone. Ends where larger batches are no faster: a dynamic batch needs only the knee
// and slightly beyond.
std::vector<convergence::Rung> ladder_speeds(Epochs& epochs, const Options& options) {
  constexpr double noticeable = 1.02;
  const engine::Checkpoint start = epochs.trainer().checkpoint();
  std::vector<convergence::Rung> speeds;
  double best = 0;
  int no_faster = 0;
  for (const std::int64_t batch : options.batches()) {
    if (no_faster == 2) break;
    const std::optional<double> seconds = update_seconds(epochs, batch);
    if (!seconds) break;
    speeds.push_back({batch, static_cast<double>(batch) / *seconds});
    no_faster = speeds.back().samples_per_second > noticeable * best ? 0 : no_faster + 1;
    best = std::max(best, speeds.back().samples_per_second);
  }
  epochs.trainer().restore(start);
  return speeds;
}

// One training run in progress.
class TrainingRun {
 public:
  TrainingRun(const Run& run, Observer& observer, const std::atomic<int>& stop)
      : run_(run),
        options_(run.options),
        observer_(observer),
        stop_(stop),
        max_steps_(own_steps(run.options)),
        epochs_(make_epochs(run, run.options, stop)),
        control_(run.options) {
    engine::Trainer& trainer = epochs_->trainer();
    if (options_.load) trainer.assign(load_weights(*options_.load, trainer.variables()));
  }

  Result run() {
    result_.predicted = predict(run_.network, options_, run_.dataset);
    evaluate_after_ = observer_.evaluate_after();
    if (options_.dynamic) control_.set_speeds(result_.speeds = ladder_speeds(*epochs_, options_));
    for (int epoch = 1; epoch <= options_.epochs && result_.status == Status::finished; ++epoch)
      run_epoch(epoch);
    if (options_.sharpness && result_.status == Status::finished) measure_end_point();
    result_.staleness = epochs_->staleness();
    average_statistics();
    if (options_.save && result_.status != Status::diverged && options_.ranks.is_first())
      save_weights(*options_.save, run_.network.name, epochs_->trainer().variables());
    return std::move(result_);
  }

 private:
  // This rank's share of the updates that all ranks make together.
  static std::optional<std::int64_t> own_steps(const Options& options) {
    if (!options.max_steps || !options.ranks.asynchronous) return options.max_steps;
    const int ranks = options.ranks.count();
    return (*options.max_steps - options.ranks.rank() + ranks - 1) / ranks;
  }

  // Ranks that share batches stop in the same step; others at any time, until the epoch's end.
  bool is_stopped() const {
    return options_.ranks.group && !options_.ranks.asynchronous ? ranks_stop_ : stop_ != 0;
  }

  void average_statistics() {
    if (options_.ranks.group) epochs_->trainer().average_statistics(*options_.ranks.group);
  }

  void run_epoch(int number) {
    EpochResult epoch;
    epoch.epoch = number;
    choose_batch(number - 1);
    train_epoch(epoch);
    note_memory();
    if (options_.evaluate && result_.status != Status::cancelled &&
        result_.status != Status::diverged && result_.status != Status::enough)
      evaluate_end(epoch);
    if (epoch.steps == 0) return;  // stopped before the first step: nothing to report
    result_.epochs.push_back(epoch);
    observer_.epoch(epoch);
  }

  void train_epoch(EpochResult& epoch) {
    Sums sums;
    const auto start = Clock::now();
    auto told = start;
    const auto trained = [&] { return since(start) - epoch.evaluation_time; };
    epochs_->start(static_cast<std::uint32_t>(epoch.epoch - 1));
    while (may_go_on()) {
      const std::span<const Update> updates = epochs_->next(steps_left());
      if (updates.empty()) break;
      epoch.batch = batch_;  // the next epoch's may be chosen after the last of them
      if (!take(updates, epoch, sums)) break;
      epoch.samples = sums.samples, epoch.train_time = trained();
      if (is_evaluation_due(sums)) evaluate_between(epoch);
      if (options_.batch_changes())
        choose_batch(epoch.epoch - 1 +
                     static_cast<double>(sums.samples) /
                         static_cast<double>(run_.dataset.train.count));
      if (since(told) >= progress_interval) {
        told = Clock::now();
        tell_progress(epoch, sums, trained());
      }
    }
    if (is_stopped() && result_.status == Status::finished) result_.status = Status::cancelled;
    gather(epoch, sums);
    epoch.train_time = trained();
    epoch.data_wait = epochs_->waited();
    epoch.samples = sums.samples;
    epoch.noise = noise_.estimate();
    epoch.noise_bound = control_.noise_scale();
    epoch.complete =
        sums.samples == samples_in_epoch(sums.samples) && result_.status != Status::diverged;
    if (sums.samples == 0) return;
    epoch.train_loss = sums.mean_loss();
    if (has_accuracy(run_.trainer.loss)) epoch.train_accuracy = sums.accuracy();
    if (epoch.complete && epoch.epoch == options_.epochs &&
        result_.status == Status::max_steps)  // it was the last step anyway
      result_.status = Status::finished;
  }

  // The results of ranks that went through the epoch independently.
  void gather(EpochResult& epoch, Sums& sums) {
    sums.stopped = result_.status == Status::cancelled;
    EpochEnd end{sums, epoch.steps, result_.status == Status::diverged};
    epochs_->gather(end);
    result_.steps += end.steps - epoch.steps;
    sums = end.sums, epoch.steps = end.steps;
    if (end.diverged)
      result_.status = Status::diverged;
    else if (end.sums.stopped)
      result_.status = Status::cancelled;
  }

  // For the next update, after this many epochs.
  void choose_batch(double epochs) {
    const std::optional<BatchChange> change = control_.after(epochs);
    if (!change) return;
    batch_ = change->batch;
    epochs_->set_batch(batch_);
    epochs_->trainer().set_learning_rate(change->learning_rate);
    result_.batches.push_back(*change);
  }

  // The sample count at the end of the current epoch.
  std::int64_t samples_in_epoch(std::int64_t done) const {
    const auto samples = static_cast<std::int64_t>(run_.dataset.train.count);
    return options_.pipeline.drop_last ? samples - (samples - done) % batch_ : samples;
  }

  // False if the loss has diverged.
  bool take(std::span<const Update> updates, EpochResult& epoch, Sums& sums) {
    for (const Update& update : updates) {
      ++result_.steps, ++epoch.steps, ++own_steps_;
      epoch.reduction_wait += update.result.reduction_wait;
      ranks_stop_ |= update.result.stops;
      result_.last_loss = update.result.loss;
      sums.add(update.result, update.samples);
      samples_ += update.samples;
      if (update.result.gradient_norms) noise_.add(*update.result.gradient_norms);
      control_.add(update.result);
      if (std::isfinite(update.result.loss)) continue;
      result_.status = Status::diverged;
      return false;
    }
    return true;
  }

  // To the end of the run, or to the next evaluation.
  std::int64_t steps_left() const {
    const std::int64_t left =
        max_steps_.value_or(std::numeric_limits<std::int64_t>::max()) - own_steps_;
    if (!evaluate_after_ || !options_.evaluate) return left;
    const std::int64_t due = (*evaluate_after_ - samples_ + batch_ - 1) / batch_;
    return std::min(left, std::max(due, std::int64_t{1}));
  }

  // At an epoch's end it is evaluated anyway.
  bool is_evaluation_due(const Sums& sums) const {
    return options_.evaluate && evaluate_after_ && samples_ >= *evaluate_after_ &&
           sums.samples < samples_in_epoch(sums.samples);
  }

  bool may_go_on() {
    if (is_stopped())
      result_.status = Status::cancelled;
    else if (max_steps_ && own_steps_ >= *max_steps_)
      result_.status = Status::max_steps;
    return result_.status == Status::finished;
  }

  void evaluate_between(EpochResult& epoch) {
    const auto start = Clock::now();
    const std::optional<trial::Evaluation> found = evaluate(epoch);
    epoch.evaluation_time += since(start);
    if (found) tell(*found);
  }

  void evaluate_end(EpochResult& epoch) {
    const auto start = Clock::now();
    const std::optional<trial::Evaluation> found = evaluate(epoch);
    if (!found) return;
    note_memory();
    epoch.evaluation_time += since(start);
    epoch.test_loss = found->test_loss, epoch.test_accuracy = found->test_accuracy;
    tell(*found);
  }

  // nullopt for an incomplete evaluation, or a diverged loss.
  std::optional<trial::Evaluation> evaluate(const EpochResult& epoch) {
    average_statistics();
    const Sums sums = epochs_->evaluate();
    if (sums.stopped) {
      result_.status = Status::cancelled;
      return std::nullopt;
    }
    trial::Evaluation found;
    found.steps = result_.steps, found.samples = samples_;
    found.train_seconds = epoch.train_time.count();
    for (const EpochResult& before : result_.epochs)
      found.train_seconds += before.train_time.count();
    // Even without an interval: such values are averaged over a run.
    if (const auto noise = noise_.estimate();
        noise && noise->gradient_squared > 0 && noise->trace > 0)
      found.noise_scale = noise->trace / noise->gradient_squared;
    if (sums.samples == 0) return found;
    found.test_loss = sums.mean_loss();
    if (has_accuracy(run_.trainer.loss)) found.test_accuracy = sums.accuracy();
    if (!std::isfinite(*found.test_loss)) {  // the last step diverged
      result_.status = Status::diverged;
      result_.last_loss = *found.test_loss;
    }
    return found;
  }

  void tell(const trial::Evaluation& found) {
    if (result_.status == Status::diverged) return;
    const bool goes_on = observer_.evaluated(found);
    evaluate_after_ = observer_.evaluate_after();
    if (!goes_on && (result_.status == Status::finished || result_.status == Status::max_steps))
      result_.status = Status::enough;
  }

  void measure_end_point() {
    const data::Samples& train = run_.dataset.train;
    data::Pipeline samples(train, end_point_pipeline(train), &stop_);
    epochs_->trainer().evaluate_gradients({});  // an empty batch: makes its plan
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
    if (max_steps_) samples_left = std::min(samples_left, (*max_steps_ - own_steps_) * batch_);
    progress.left = core::Seconds(static_cast<double>(samples_left) / progress.samples_per_second);
    if (!result_.epochs.empty())
      progress.left += (epochs_left + 1) * result_.epochs.back().evaluation_time;
    if (const auto noise = noise_.estimate(); noise && noise->samples)
      progress.noise_scale = noise->samples->mean;
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
  const std::optional<std::int64_t> max_steps_;  // of this rank
  std::unique_ptr<Epochs> epochs_;
  convergence::NoiseScale noise_;               // follows training, across epochs
  std::int64_t samples_ = 0;                    // of the whole run
  std::optional<std::int64_t> evaluate_after_;  // of them
  BatchControl control_;
  std::int64_t batch_ = 0;      // none yet
  std::int64_t own_steps_ = 0;  // that this rank made
  bool ranks_stop_ = false;     // one of them was asked to
  Result result_;
};

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::finished:
      return "finished";
    case Status::max_steps:
      return "max_steps";
    case Status::enough:
      return "enough";
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
