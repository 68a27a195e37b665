#include "measure/training.h"

#include <algorithm>

#include "measure/contention.h"
#include "measure/machine.h"
#include "measure/run_guarded.h"
#include "measure/sampler.h"
#include "measure/sampling.h"
#include "stats/quantile.h"

namespace sweetspot::measure {
namespace {

// One training run as a trial: keeps its epochs, tells of its progress, and turns a stop that lets
// trials finish into one that does not.
class TrainingTrial final : public workload::TrainingObserver {
 public:
  TrainingTrial(workload::Training& training, const trial::Setting& setting, int epochs,
                const Watch& watch, const std::atomic<int>& stop, Machine& machine)
      : training_(training),
        epochs_(epochs),
        watch_(watch),
        stop_(stop),
        machine_(machine),
        started_(machine.now()) {
    trial_.setting = setting;
    trial_.device = training.device();
    trial_.started_at = machine.seconds_since_1970();
  }

  trial::Trial run() {
    run_guarded(trial_, [this] { train(); });
    if (sampler_) sampler_->tell(trial_);
    if (trial_.outcome == trial::Outcome::ok) summarize();
    double trained_seconds = 0;  // more than the clock's in virtual time
    for (const trial::Epoch& epoch : trial_.epochs) trained_seconds += epoch.train_seconds;
    trial_.seconds = std::max(trained_seconds, machine_.now() - started_);
    return std::move(trial_);
  }

  void progress(const workload::TrainingProgress& progress) override {
    look_for_stop();
    const double now = machine_.now();
    if (!watch_ || now < next_told_) return;
    next_told_ = now + watch_interval_seconds;
    const trial::Interval speed{progress.samples_per_second, progress.samples_per_second,
                                progress.samples_per_second};
    watch_({&trial_.setting, false, trial_.steps, speed, progress.epoch, epochs_,
            progress.epoch_share});
  }

  void epoch(const trial::Epoch& epoch) override {
    look_for_stop();
    trial_.epochs.push_back(epoch);
  }

 private:
  void look_for_stop() {
    if (stop_.load(std::memory_order_relaxed) >= give_up) give_up_ = 1;
  }

  void train() {
    trial_.memory_predicted = training_.predict(trial_.setting);
    if (!training_.takes_real_time()) return train_now();
    const Look before = look(machine_);
    sampler_ = start_sampler(machine_, trial_.device, started_);
    if (sampler_) sampler_->begin_steps();
    train_now();
    if (sampler_) sampler_->end_steps();
    trial_.contention = contention(before, look(machine_));
    if (sampler_) add(sampler_->company(), trial_.contention);
  }

  void train_now() {
    look_for_stop();
    const workload::Trained trained = training_.train(trial_.setting, epochs_, *this, give_up_);
    trial_.outcome = trained.outcome;
    trial_.note = trained.note;
    trial_.steps = trained.steps;
    trial_.samples_seen = trained.samples;
    trial_.sharpness = trained.sharpness;
    trial_.end_train_loss = trained.end_train_loss;
    trial_.memory_measured = trained.memory_measured;
    trial_.memory_by_use = trained.memory_by_use;
  }

  // Every epoch has as many samples and steps as any other.
  void summarize() {
    const auto count = static_cast<std::int64_t>(trial_.epochs.size());
    if (count == 0 || trial_.steps == 0) return;
    std::vector<double> epoch_seconds, step_seconds;
    const double steps = static_cast<double>(trial_.steps) / static_cast<double>(count);
    for (const trial::Epoch& epoch : trial_.epochs) {
      epoch_seconds.push_back(epoch.train_seconds);
      step_seconds.push_back(epoch.train_seconds / steps);
    }
    trial_.step_seconds_median = stats::median(step_seconds);
    trial_.samples_per_second =
        throughput(epoch_seconds,
                   std::vector<std::int64_t>(epoch_seconds.size(), trial_.samples_seen / count));
  }

  workload::Training& training_;
  int epochs_;
  const Watch& watch_;
  const std::atomic<int>& stop_;
  Machine& machine_;
  std::atomic<int> give_up_{0};
  double started_, next_told_ = 0;
  std::unique_ptr<Sampler> sampler_;
  trial::Trial trial_;
};

}  // namespace

trial::Trial train(workload::Training& training, const trial::Setting& setting, int epochs,
                   const Watch& watch, const std::atomic<int>& stop) {
  return train(training, setting, epochs, watch, stop, this_machine());
}

trial::Trial train(workload::Training& training, const trial::Setting& setting, int epochs,
                   const Watch& watch, const std::atomic<int>& stop, Machine& machine) {
  return TrainingTrial(training, setting, epochs, watch, stop, machine).run();
}

}  // namespace sweetspot::measure
