#include "measure/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/run_guarded.h"
#include "measure/lookout.h"
#include "measure/sampler.h"
#include "measure/sampling.h"
#include "measure/machine.h"
#include "stats/outliers.h"
#include "stats/quantile.h"

namespace sweetspot::measure {
namespace {

using trial::Outcome;
using trial::Trial;

constexpr std::int64_t most_warm_up_steps = 2000;
// With fewer undisturbed steps than this, the others count too.
constexpr std::int64_t fewest_calm_steps = 5;

// Time as the steps tell it or as the clock does, whichever is more: a workload's steps may take
// virtual time, and its clock may run on between them.
class Elapsed {
 public:
  explicit Elapsed(Machine& machine)
      : machine_(machine), start_(machine.now()) {}
  void add(double step_seconds) { stepped_ += step_seconds; }
  double start() const { return start_; }
  double seconds() const { return std::max(stepped_, machine_.now() - start_); }

 private:
  Machine& machine_;
  double start_, stepped_ = 0;
};

// One trial in progress.
class Measurement {
 public:
  Measurement(workload::Workload& workload, const trial::Setting& setting,
              const MeasureOptions& options, const Watch& watch, const std::atomic<int>& stop,
              Machine& machine)
      : workload_(workload),
        options_(options),
        watch_(watch),
        stop_(stop),
        machine_(machine),
        whole_(machine),
        sampling_(options) {
    trial_.setting = setting;
    trial_.device = workload.device();
    trial_.started_at = machine.seconds_since_1970();
  }

  Trial run() {
    measure::attempt(trial_, [this] { open_and_sample(); });
    if (sampler_) sampler_->tell(trial_);
    close();
    trial_.seconds = whole_.seconds();
    return std::move(trial_);
  }

 private:
  void open_and_sample() {
    trial_.memory_predicted = workload_.predict(trial_.setting);
    session_ = workload_.open(trial_.setting);
    note_memory();
    start_reading();
    try {
      if (!warm_up()) return;
    } catch (const workload::Ended& ended) {
      if (ended.outcome != Outcome::ok) throw;
      sample_warm_up();
      summarize();
      return;
    }
    const bool finished = session_->takes_real_time() ? sample_between_looks() : sample();
    note_memory();
    if (finished) summarize();
  }

  // False when the trial is over, with its outcome set.
  bool warm_up() {
    std::optional<Elapsed> elapsed(std::in_place, machine_);
    std::vector<double> seconds;
    std::size_t next_judgement = 1;
    do {
      if (!step(true, *elapsed)) return false;
      // What a program does before its first step is no warm-up.
      if (seconds.empty() && !session_->rests_between_steps()) elapsed.emplace(machine_);
      seconds.push_back(per_update(trial_.raw.back()));
      tell(true);
      if (elapsed->seconds() >= options_.max_warm_up.count() ||
          trial_.warm_up_steps >= most_warm_up_steps)
        return true;
      if (seconds.size() < next_judgement) continue;
      next_judgement = seconds.size() + 1 + seconds.size() / 8;
      if (warmed_up(seconds, elapsed->seconds())) return true;
    } while (true);
  }

  // The program was over before it had warmed up: all but its first step is what there is.
  void sample_warm_up() {
    for (std::size_t i = 1; i < trial_.raw.size(); ++i) {
      trial::Step& step = trial_.raw[i];
      step.warm_up = false;
      sampling_.add(step.seconds, step.samples, 0);
      --trial_.warm_up_steps, ++trial_.steps;
    }
    sampling_.end(trial::StopReason::ended);
  }

  bool sample_between_looks() {
    // The speed of a CPU is nothing to what runs on a GPU.
    const bool resting = session_->rests_between_steps() && trial_.device == "cpu";
    const bool watched = resting && session_->computes_on_cpus();
    Look before = watched ? look(machine_, true)
                          : look_when_calm(machine_, resting, options_.patience.count(),
                                           [this] { return stop_.load() != 0; });
    if (watched) lookout_.emplace(machine_, *before.speed);
    if (sampler_) sampler_->begin_steps();
    const bool finished = sample();
    if (sampler_) sampler_->end_steps();
    Look after = look(machine_, resting && !watched);
    if (lookout_) {
      before.speed = disturbed_count_ ? lookout_->lower_quarter() : lookout_->calm();
      after.speed = lookout_->fastest();
    }
    trial_.contention = contention(before, after, machine_.yardstick.best());
    note_disturbance();
    if (sampler_) add(sampler_->company(), trial_.contention);
    return finished;
  }

  // Of what runs in this process: which device a program uses is not known.
  void start_reading() {
    if (session_->takes_real_time() && session_->rests_between_steps())
      sampler_ = start_sampler(machine_, trial_.device, whole_.start());
  }

  bool sample() {
    Elapsed elapsed(machine_);
    judged_ = trial_.raw.size();
    while (!sampling_.stop()) {
      try {
        if (!step(false, elapsed)) return false;
      } catch (const workload::Ended& ended) {
        if (ended.outcome != Outcome::ok) throw;
        if (lookout_) end_block();
        end_sampling(trial::StopReason::ended);
        return true;
      }
      const trial::Step& done = trial_.raw.back();
      if (!lookout_) {
        sampling_.add(done.seconds, done.samples, elapsed.seconds());
      } else if ((block_seconds_ += done.seconds) >= lookout_->block_seconds() ||
                 trial_.steps >= options_.max_steps) {
        end_block();
        if (!sampling_.stop()) heed_limits(elapsed.seconds() - lost() + hopeless());
      }
      tell(false);
    }
    return true;
  }

  // The steps since the last look count if the machine was calm around them.
  void end_block() {
    const bool calm = lookout_->calm_since_last();
    for (; judged_ < trial_.raw.size(); ++judged_) {
      trial::Step& step = trial_.raw[judged_];
      step.disturbed = !calm;
      (calm ? calm_seconds_ : disturbed_seconds_) += step.seconds;
      if (calm) sampling_.add(step.seconds, step.samples, calm_seconds_);
    }
    block_seconds_ = 0;
  }

  void heed_limits(double elapsed) {
    if (trial_.steps >= options_.max_steps)
      end_sampling(trial::StopReason::max_steps);
    else if (out_of_time(options_, trial_.steps, elapsed))
      end_sampling(trial::StopReason::time_limit);
  }

  // Of a machine that is never calm for long, all steps count.
  void end_sampling(trial::StopReason why) {
    disturbed_count_ = lookout_ && sampling_.count() < fewest_calm_steps;
    if (disturbed_count_) {
      sampling_ = Sampling(options_);
      for (const trial::Step& step : trial_.raw)
        if (!step.warm_up) sampling_.add(step.seconds, step.samples, 0);
    }
    sampling_.end(why);
  }

  // Disturbed steps take none of a trial's time as long as there is patience for them, which is not
  // all for one trial, and none once somebody wants it to end.
  double lost() const {
    const double patience = std::min(options_.patience, options_.max_time).count();
    return stop_.load() != 0 ? 0 : std::min(disturbed_seconds_, patience);
  }

  // Beyond that they count thrice: a machine that has been slow for so long will hardly recover
  // within this trial.
  double hopeless() const { return 2 * (disturbed_seconds_ - lost()); }

  void note_disturbance() {
    const double seconds = calm_seconds_ + disturbed_seconds_;
    if (seconds == 0) return;
    trial_.contention.disturbed_share = disturbed_seconds_ / seconds;
    trial_.contention.waited_seconds = lost();
    if (!disturbed_count_ || trial_.contention.contended) return;
    trial_.contention.contended = true;
    trial_.contention.reason = slower_than_it_was;
  }

  bool step(bool warming_up, Elapsed& elapsed) {
    if (stop_.load(std::memory_order_relaxed) >= give_up) {
      end(Outcome::cancelled, "it was stopped before it was measured");
      return false;
    }
    trial::Step step = session_->step();
    step.warm_up = warming_up;
    elapsed.add(step.seconds), whole_.add(step.seconds);
    trial_.raw.push_back(step);
    ++(warming_up ? trial_.warm_up_steps : trial_.steps);
    trial_.samples_seen += step.samples;
    if (step.samples == step.updates * trial_.setting.batch || may_be_an_epochs_last(step))
      return true;
    end(Outcome::refused, fmt::format("a step used {} samples where {} were asked for",
                                      step.samples, trial_.setting.batch));
    return false;
  }

  // A data set seldom is a multiple of the batch; many programs train on what is left over. Once in
  // a while, that is: a program that does so all the time has another batch than it was given.
  bool may_be_an_epochs_last(const trial::Step& step) {
    constexpr std::int64_t seldom = 8;
    const auto steps = static_cast<std::int64_t>(trial_.raw.size());
    return step.samples > 0 && step.samples < step.updates * trial_.setting.batch && steps > 1 &&
           ++short_steps_ <= 1 + steps / seldom;
  }

  void summarize() {
    trial_.stop_reason = sampling_.stop();
    trial_.samples_per_second = sampling_.samples_per_second();
    if (!trial_.samples_per_second) {
      end(Outcome::crashed, "the program ended before two steps were measured");
      return;
    }
    trial_.samples_per_second =
        widened(*trial_.samples_per_second, trial_.contention, machine_.yardstick.best());
    std::vector<trial::Step*> counted;
    std::vector<double> seconds;
    for (trial::Step& step : trial_.raw)
      if (!step.warm_up && (disturbed_count_ || !step.disturbed))
        counted.push_back(&step), seconds.push_back(per_update(step));
    trial_.step_seconds_median = stats::median(seconds);
    const std::vector<bool> flags = stats::outliers(seconds);
    trial::PhaseSeconds sums{};
    std::int64_t updates = 0;
    for (std::size_t i = 0; i < counted.size(); ++i) {
      trial::Step& step = *counted[i];
      step.outlier = flags[i];
      trial_.outlier_steps += flags[i];
      updates += step.updates;
      for (std::size_t phase = 0; phase < sums.size(); ++phase) sums[phase] += step.phases[phase];
    }
    for (double& sum : sums) sum /= static_cast<double>(updates);
    // A workload that cannot tell its phases leaves them at zero.
    if (std::ranges::any_of(sums, [](double sum) { return sum > 0; })) trial_.phases = sums;
  }

  static double per_update(const trial::Step& step) {
    return step.seconds / static_cast<double>(step.updates);
  }

  void close() {
    if (!session_) return;
    const workload::Account account = session_->close();
    session_.reset();
    note_memory(account.memory_peak, std::nullopt);
    trial_.memory_source = account.memory_source;
    trial_.step_source = account.step_source;
    trial_.start_up_seconds = account.start_up_seconds;
    trial_.cpu_seconds = account.cpu_seconds;
    if (trial_.note.empty()) trial_.note = account.note;
  }

  void end(Outcome outcome, std::string note) {
    trial_.outcome = outcome;
    trial_.note = std::move(note);
  }

  void note_memory() { note_memory(session_->memory(), session_->memory_by_use()); }
  // The most that it ever held.
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

  workload::Workload& workload_;
  const MeasureOptions& options_;
  const Watch& watch_;
  const std::atomic<int>& stop_;
  Machine& machine_;
  Elapsed whole_;
  Sampling sampling_;
  std::unique_ptr<workload::Session> session_;
  std::unique_ptr<Sampler> sampler_;
  std::optional<Lookout> lookout_;
  std::size_t judged_ = 0;  // steps, as calm or disturbed
  double block_seconds_ = 0, calm_seconds_ = 0, disturbed_seconds_ = 0;
  bool disturbed_count_ = false;
  double next_told_ = 0;
  std::int64_t short_steps_ = 0;
  Trial trial_;
};

}  // namespace

Trial measure(workload::Workload& workload, const trial::Setting& setting,
              const MeasureOptions& options, const Watch& watch, const std::atomic<int>& stop) {
  return Measurement(workload, setting, options, watch, stop, this_machine()).run();
}

Trial measure(workload::Workload& workload, const trial::Setting& setting,
              const MeasureOptions& options, const Watch& watch, const std::atomic<int>& stop,
              Machine& machine) {
  return Measurement(workload, setting, options, watch, stop, machine).run();
}

}  // namespace sweetspot::measure
