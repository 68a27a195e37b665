#include "learning/training_trial.h"

#include <algorithm>
#include <cmath>

#include "measure/run_guarded.h"
#include "stats/batch_means.h"
#include "stats/quantile.h"
#include "telemetry/trial_readings.h"

namespace sweetspot::learning {
namespace {

constexpr double first_share = 0.05;               // of an epoch
constexpr std::int64_t first_samples = 1000;       // if the epoch's length is unknown
constexpr double least_step = 1.1, most_step = 2;  // times as many samples

// One training run as a trial: records its epochs, reports its progress, and turns a stop that lets
// trials finish into one that does not.
class TrainingTrial final : public workload::TrainingObserver {
 public:
  TrainingTrial(workload::Training& training, const trial::Setting& setting, const TrainFor& wanted,
                const measure::Watch& watch, const workload::Until& until,
                telemetry::Machine& machine)
      : training_(training),
        wanted_(wanted),
        watch_(watch),
        until_(until),
        machine_(machine),
        started_(machine.now()),
        readings_(machine, started_),
        trial_(measure::begin_trial(setting, training.device(), machine)) {
    if (wanted.target) schedule_.emplace(*wanted.target, training.samples());
  }

  trial::Trial run() {
    measure::run_guarded(trial_, [this] { train(); });
    readings_.tell(trial_);
    if (trial_.outcome == trial::Outcome::ok) summarize();
    double trained_seconds = 0;  // more than the clock's in virtual time
    for (const trial::Epoch& epoch : trial_.epochs) trained_seconds += epoch.train_seconds;
    if (!trial_.evaluations.empty())
      trained_seconds = std::max(trained_seconds, trial_.evaluations.back().train_seconds);
    trial_.seconds = std::max(trained_seconds, machine_.now() - started_);
    return std::move(trial_);
  }

  void progress(const workload::TrainingProgress& progress) override {
    look_for_stop();
    const double now = machine_.now();
    if (!watch_ || now < next_told_) return;
    next_told_ = now + measure::watch_interval_seconds;
    const trial::Interval speed{progress.samples_per_second, progress.samples_per_second,
                                progress.samples_per_second};
    watch_({&trial_.setting, false, trial_.steps, speed, progress.epoch, wanted_.epochs,
            progress.epoch_share});
  }

  void epoch(const trial::Epoch& epoch) override {
    look_for_stop();
    trial_.epochs.push_back(epoch);
  }

  std::optional<std::int64_t> evaluate_after() override {
    if (!schedule_) return std::nullopt;
    return std::min(schedule_->next(), wanted_.most_samples.value_or(schedule_->next()));
  }

  bool evaluated(const trial::Evaluation& found) override {
    look_for_stop();
    if (!schedule_) return true;
    schedule_->evaluated(found);
    if (!trial_.evaluations.empty() && trial_.evaluations.back().steps == found.steps)
      trial_.evaluations.back() = found;  // again without a step in between
    else
      trial_.evaluations.push_back(found);
    if (trial::is_reached(found, *wanted_.target)) return false;
    if (until_.time_is_up())
      trial_.stop_reason = trial::StopReason::time_limit;
    else if (wanted_.most_samples && found.samples >= *wanted_.most_samples)
      trial_.stop_reason = trial::StopReason::max_steps;
    return !trial_.stop_reason;
  }

 private:
  void look_for_stop() {
    if (until_.told_to_give_up()) give_up_ = 1;
  }

  void train() {
    trial_.memory_predicted = training_.predict(trial_.setting);
    if (!training_.takes_real_time()) return train_now();
    readings_.add(trial_.device);
    readings_.begin_steps();
    train_now();
    trial_.contention = readings_.end_steps();
  }

  void train_now() {
    look_for_stop();
    const workload::Trained trained =
        training_.train(trial_.setting, wanted_.epochs, *this, {give_up_, until_.deadline});
    trial_.outcome = trained.outcome;
    trial_.note = trained.note;
    trial_.steps = trained.steps;
    trial_.samples_seen = trained.samples;
    trial_.sharpness = trained.sharpness;
    trial_.end_train_loss = trained.end_train_loss;
    trial_.memory_measured = trained.memory_measured;
    trial_.memory_by_use = trained.memory_by_use;
    trial_.noise_scale = trained.noise_scale;
  }

  // All epochs have the same number of samples and steps.
  void summarize() {
    const auto count = static_cast<std::int64_t>(trial_.epochs.size());
    if (!trial_.evaluations.empty()) return summarize_part();
    if (count == 0 || trial_.steps == 0) return;
    std::vector<double> epoch_seconds, step_seconds;
    const double steps = static_cast<double>(trial_.steps) / static_cast<double>(count);
    for (const trial::Epoch& epoch : trial_.epochs) {
      epoch_seconds.push_back(epoch.train_seconds);
      step_seconds.push_back(epoch.train_seconds / steps);
    }
    trial_.step_seconds_median = stats::median(step_seconds);
    trial_.samples_per_second = stats::throughput_interval(
        epoch_seconds,
        std::vector<std::int64_t>(epoch_seconds.size(), trial_.samples_seen / count));
  }

  // It may have ended within an epoch.
  void summarize_part() {
    const trial::Evaluation& last = trial_.evaluations.back();
    if (last.steps > 0)
      trial_.step_seconds_median = last.train_seconds / static_cast<double>(last.steps);
  }

  workload::Training& training_;
  TrainFor wanted_;
  std::optional<EvaluationSchedule> schedule_;
  const measure::Watch& watch_;
  const workload::Until& until_;
  telemetry::Machine& machine_;
  std::atomic<int> give_up_{0};
  double started_, next_told_ = 0;
  telemetry::TrialReadings readings_;
  trial::Trial trial_;
};

}  // namespace

EvaluationSchedule::EvaluationSchedule(const trial::Target& target,
                                       std::optional<std::int64_t> samples_in_epoch)
    : target_(target),
      next_(samples_in_epoch
                ? std::max<std::int64_t>(
                      1, std::llround(first_share * static_cast<double>(*samples_in_epoch)))
                : first_samples) {}

// Errors and losses fall at most as the inverse square of the samples: until then the target cannot
// have been reached.
void EvaluationSchedule::evaluated(const trial::Evaluation& evaluation) {
  const std::optional<double> off = trial::times_off(evaluation, target_);
  const double step = off ? std::clamp(std::sqrt(*off), least_step, most_step) : least_step;
  next_ = std::max<std::int64_t>(evaluation.samples + 1,
                                 std::llround(step * static_cast<double>(evaluation.samples)));
}

trial::Trial train(workload::Training& training, const trial::Setting& setting,
                   const TrainFor& wanted, const measure::Watch& watch,
                   const workload::Until& until, telemetry::Machine& machine) {
  return TrainingTrial(training, setting, wanted, watch, until, machine).run();
}

}  // namespace sweetspot::learning
