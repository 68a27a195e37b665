#include "measure/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "measure/run_guarded.h"
#include "measure/sampling.h"
#include "stats/quantile.h"
#include "telemetry/machine.h"
#include "telemetry/trial_readings.h"
#include "trial/trial.h"

namespace sweetspot::measure {
namespace {

using trial::Outcome;
using trial::Trial;

// One trial in progress.
class Measurement {
 public:
  Measurement(workload::Workload& workload, const trial::Setting& setting,
              const MeasureOptions& options, const Watch& watch, const std::atomic<int>& stop,
              telemetry::Machine& machine)
      : workload_(workload),
        options_(options),
        watch_(watch),
        until_{stop, options.deadline, [this](const workload::Waiting& waiting) { tell(waiting); }},
        machine_(machine),
        about_(workload.about()),
        whole_(machine, about_.takes_real_time),
        readings_(machine, whole_.start()),
        sampling_(options) {
    trial_.setting = setting;
    trial_.device = workload.device();
    trial_.started_at = machine.seconds_since_1970();
  }

  Trial run() {
    run_guarded(trial_, [this] { open_and_sample(); });
    readings_.stop();
    close();
    readings_.tell(trial_);
    if (trial_.energy_joules) trial_.energy_samples = sampled_samples_;
    trial_.seconds = whole_.seconds();
    return std::move(trial_);
  }

 private:
  void open_and_sample() {
    trial_.memory_predicted = workload_.predict(trial_.setting);
    session_ = workload_.open(trial_.setting);
    note_memory();
    if (about_.takes_real_time && about_.rests_between_steps) readings_.add(trial_.device);
    try {
      if (!warm_up()) return;
    } catch (const workload::Ended& ended) {
      if (ended.outcome != Outcome::ok) throw;
      // Warm-up steps are enough only for a short program.
      if (ended.reason == trial::StopReason::time_limit)
        return end(Outcome::cancelled, ended.what());
      sample_warm_up();
      summarize();
      return;
    }
    const workload::Seen seen = session_->seen();
    if (seen.restart_seconds && options_.first_look)
      sampling_.hurry(seen.gpus.empty()
                          ? std::max(options_.min_time, core::Seconds(*seen.restart_seconds))
                          : options_.min_time / 2);
    count_steady_steps(seen);
    const bool finished = about_.takes_real_time ? sample_beside_readings() : sample();
    note_memory();
    if (finished) summarize();
  }

  // False if the trial is over, with its outcome set.
  bool warm_up() {
    std::optional<telemetry::Elapsed> elapsed(std::in_place, machine_, about_.takes_real_time);
    std::vector<double> seconds;
    std::size_t next_judgement = 1;
    do {
      if (!step(true, *elapsed)) return false;
      // What a program does before its first step is not warm-up.
      if (seconds.empty() && !about_.rests_between_steps)
        elapsed.emplace(machine_, about_.takes_real_time);
      seconds.push_back(per_update(trial_.raw.back()));
      tell(true);
      if (elapsed->seconds() >= options_.max_warm_up.count()) return true;
      if (seconds.size() < next_judgement) continue;
      next_judgement = seconds.size() + 1 + seconds.size() / 8;
      // Prefetched data says nothing about steps that have to wait for theirs.
      if (warmed_up(seconds, elapsed->seconds()) &&
          trial_.raw.size() >= session_->seen().loaded_ahead)
        return true;
    } while (true);
  }

  // The program ended before it had warmed up: everything except its first step counts.
  void sample_warm_up() {
    for (std::size_t i = 1; i < trial_.raw.size(); ++i) count_after_all(trial_.raw[i]);
    sampling_.end(trial::StopReason::ended);
  }

  // The two steps that show a GPU's warm-up to be over, by repeating, are as good as those that
  // follow. Steps of large batches are long.
  void count_steady_steps(const workload::Seen& seen) {
    if (options_.updates || options_.reads_energy) return;
    if (about_.rests_between_steps || seen.gpus.empty()) return;
    constexpr std::size_t counted = 2;
    if (trial_.raw.size() < counted + std::max<std::size_t>(1, seen.loaded_ahead)) return;
    const std::span<trial::Step> last = std::span(trial_.raw).last(counted);
    const auto [fastest, slowest] = std::minmax({per_update(last[0]), per_update(last[1])});
    if (!are_steady(fastest, slowest)) return;
    for (trial::Step& step : last) {
      counted_seconds_ += step.seconds;
      count_after_all(step);
    }
  }

  void count_after_all(trial::Step& step) {
    step.warm_up = false;
    sampling_.add(step.seconds, step.samples, 0);
    trial_.warm_up_steps -= step.updates;
    trial_.steps += step.updates, ++trial_.timings;
  }

  bool sample_beside_readings() {
    if (!about_.rests_between_steps) start_reading_program();
    readings_.begin_steps();
    const bool finished = sample();
    trial_.contention = readings_.end_steps();
    return finished;
  }

  // The devices of a program are known once it steps.
  void start_reading_program() {
    const std::vector<workload::SeenGpu> gpus = session_->seen().gpus;
    for (const workload::SeenGpu& seen : gpus)
      readings_.add_gpu(seen.device, seen.gpu, seen.is_own);
    if (gpus.empty()) readings_.add("cpu", true);
  }

  bool sample() {
    telemetry::Elapsed elapsed(machine_, about_.takes_real_time);
    while (!sampling_.stop()) {
      try {
        if (!step(false, elapsed)) return false;
      } catch (const workload::Ended& ended) {
        if (ended.outcome != Outcome::ok) throw;
        if (ended.reason == trial::StopReason::time_limit && trial_.timings < fewest_steps) {
          end(Outcome::cancelled, ended.what());
          return false;
        }
        sampling_.end(ended.reason);
        return true;
      }
      const trial::Step& done = trial_.raw.back();
      sampling_.add(done.seconds, done.samples, counted_seconds_ + elapsed.seconds());
      if (options_.updates && trial_.warm_up_steps + trial_.steps >= *options_.updates)
        sampling_.end(trial::StopReason::max_steps);
      if (sampling_.stop()) look_longer();
      tell(false);
    }
    return true;
  }

  // Whether inputs vary in length is known later than the speed.
  void look_longer() {
    const core::Seconds least(session_->seen().telling_seconds);
    if (std::exchange(looked_longer_, true) || least.count() <= 0 || options_.updates) return;
    if (least <= options_.max_time && steps_vary()) sampling_.go_on(least);
  }

  bool step(bool warming_up, telemetry::Elapsed& elapsed) {
    if (until_.told_to_give_up()) {
      end(Outcome::cancelled, "it was stopped before it was measured");
      return false;
    }
    trial::Step step = session_->step(until_);
    step.warm_up = warming_up;
    elapsed.add(step.seconds), whole_.add(step.seconds);
    trial_.raw.push_back(step);
    (warming_up ? trial_.warm_up_steps : trial_.steps) += step.updates;
    if (!warming_up) ++trial_.timings, sampled_samples_ += step.samples;
    trial_.samples_seen += step.samples;
    if (step.samples == step.updates * trial_.setting.batch || may_be_an_epochs_last(step))
      return true;
    end(Outcome::refused, fmt::format("a step used {} samples where {} were asked for",
                                      step.samples, trial_.setting.batch));
    return false;
  }

  // A data set is rarely a multiple of the batch; many programs train on the remainder. That
  // happens once per epoch, after whole batches, and is the same each time: a program that does
  // otherwise uses a different batch than it was given, unless it does so seldom.
  bool may_be_an_epochs_last(const trial::Step& step) {
    constexpr std::int64_t seldom = 8;
    const auto steps = static_cast<std::int64_t>(trial_.raw.size());
    if (step.samples <= 0 || step.samples >= step.updates * trial_.setting.batch || steps < 2)
      return false;
    const trial::Step& before = trial_.raw[trial_.raw.size() - 2];
    const bool remains = before.samples == before.updates * trial_.setting.batch &&
                         step.samples == remainder_.value_or(step.samples);
    if (remains) remainder_ = step.samples;
    return remains || ++short_steps_ <= 1 + steps / seldom;
  }

  void summarize() {
    trial_.stop_reason = sampling_.stop();
    trial_.samples_per_second = sampling_.samples_per_second();
    if (!trial_.samples_per_second) {
      end(Outcome::crashed, "the program ended before two steps were measured");
      return;
    }
    summarize_steps(trial_, [](const trial::Step& step) { return !step.warm_up; });
  }

  void close() {
    if (!session_) return;
    const workload::Account account = session_->close();
    session_.reset();
    note_memory(account.memory_peak, std::nullopt);
    static_cast<trial::SessionReport&>(trial_) = account;
    trial_.inputs_vary = account.inputs_vary && times_vary();
    if (!account.device.empty()) trial_.device = account.device;
    if (trial_.note.empty()) trial_.note = account.note;
    if (trial_.outcome != Outcome::ok) trial_.last_output = account.last_output;
  }

  // Only on an otherwise idle machine: noise does not indicate varying input lengths.
  bool times_vary() const { return !trial_.contention.contended && steps_vary(); }

  bool steps_vary() const {
    std::vector<double> seconds;
    for (const trial::Step& step : trial_.raw)
      if (!step.warm_up) seconds.push_back(per_update(step));
    if (seconds.size() < stats::min_batches_for_interval) return false;
    return *stats::robust_deviation(seconds) >=
           experiment::noticeable_share * *stats::median(seconds);
  }

  void end(Outcome outcome, std::string note) {
    trial_.outcome = outcome;
    trial_.note = std::move(note);
  }

  void note_memory() {
    const workload::Seen seen = session_->seen();
    note_memory(seen.memory, seen.memory_by_use);
  }
  // The peak so far.
  void note_memory(const std::optional<core::Bytes>& now,
                   const std::optional<core::MemoryByUse>& by_use) {
    if (!now || (trial_.memory_measured && *now <= *trial_.memory_measured)) return;
    trial_.memory_measured = now, trial_.memory_by_use = by_use;
  }

  void tell(bool warming_up) {
    if (!watch_) return;
    const double now = machine_.now();
    if (now < next_told_) return;
    next_told_ = now + watch_interval_seconds;
    watch_({&trial_.setting, warming_up, warming_up ? trial_.warm_up_steps : trial_.steps,
            sampling_.samples_per_second()});
  }

  // Before its first step.
  void tell(const workload::Waiting& waiting) const {
    if (!watch_) return;
    TrialProgress sight{&trial_.setting, true, 0, std::nullopt};
    sight.waiting = &waiting;
    watch_(sight);
  }

  workload::Workload& workload_;
  const MeasureOptions& options_;
  const Watch& watch_;
  const workload::Until until_;
  telemetry::Machine& machine_;
  const workload::About about_;
  telemetry::Elapsed whole_;
  telemetry::TrialReadings readings_;
  Sampling sampling_;
  std::unique_ptr<workload::Session> session_;
  bool looked_longer_ = false;
  double next_told_ = 0, counted_seconds_ = 0;
  std::int64_t short_steps_ = 0, sampled_samples_ = 0;
  std::optional<std::int64_t> remainder_;  // samples of an epoch's last step
  Trial trial_;
};

}  // namespace

Trial measure(workload::Workload& workload, const trial::Setting& setting,
              const MeasureOptions& options, const Watch& watch, const std::atomic<int>& stop,
              telemetry::Machine& machine) {
  return Measurement(workload, setting, options, watch, stop, machine).run();
}

}  // namespace sweetspot::measure
