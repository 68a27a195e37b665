#include "measure/measure.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "measure/run_guarded.h"
#include "measure/sampling.h"
#include "measure/session_trial.h"
#include "stats/quantile.h"
#include "telemetry/trial_readings.h"

namespace sweetspot::measure {
namespace {

using trial::Outcome;
using trial::StopReason;

// A trial of one block: its steps are warm-up until they settle, and enough when their speed is
// known.
class WholeTrial final : public BlockRule {
 public:
  WholeTrial(workload::Workload& workload, const trial::Setting& setting,
             const MeasureOptions& options, const Watch& watch, const workload::Until& until,
             telemetry::Machine& machine)
      : options_(options),
        shared_{workload, until, watch, machine},
        session_(shared_, setting),
        trial_(session_.trial),
        readings_(machine, shared_.elapsed.start()),
        sampling_(options) {}

  trial::Trial run() {
    run_guarded(trial_, [this] { open_and_sample(); });
    readings_.stop();
    session_.close();
    // Only on an otherwise idle machine: noise does not indicate varying input lengths.
    trial_.inputs_vary = trial_.inputs_vary && !trial_.contention.contended && steps_vary();
    readings_.tell(trial_);
    if (trial_.energy_joules) trial_.energy_samples = sampled_samples_;
    trial_.seconds = shared_.elapsed.seconds();
    return std::move(trial_);
  }

 private:
  void open_and_sample() {
    session_.predict();
    session_.open();
    session_.note_memory();
    if (shared_.about.takes_real_time && shared_.about.rests_between_steps)
      readings_.add(trial_.device);
    start_clock();
    std::optional<workload::Ended> ended;
    try {
      session_.block(*this);
    } catch (const workload::Ended& its) {
      if (its.outcome != Outcome::ok && its.outcome != Outcome::refused &&
          its.outcome != Outcome::cancelled)
        throw;
      ended = its;
    }
    if (is_sampling_) {
      if (shared_.about.takes_real_time) trial_.contention = readings_.end_steps();
      session_.note_memory();
    }
    if (ended) end_early(*ended);
    summarize();
  }

  // It ended by itself, or at the deadline: what it did may be enough.
  void end_early(const workload::Ended& ended) {
    if (ended.outcome != Outcome::ok) throw ended;
    // Warm-up steps are enough only for a short program.
    if (ended.reason == StopReason::time_limit && (!is_sampling_ || trial_.timings < fewest_steps))
      throw workload::Ended(Outcome::cancelled, ended.what());
    if (!is_sampling_)  // everything except its first step counts
      for (std::size_t i = 1; i < trial_.raw.size(); ++i) count_after_all(trial_.raw[i]);
    sampling_.end(ended.reason);
  }

  void start_clock() { clock_.emplace(shared_.machine, shared_.about.takes_real_time); }

  bool is_warm() const override { return is_warm_; }

  void add_warm_up(const trial::Step& step) {
    clock_->add(step.seconds);
    // What a program does before its first step is not warm-up.
    if (warm_up_.empty() && !shared_.about.rests_between_steps) start_clock();
    warm_up_.push_back(per_update(step));
    const double elapsed = clock_->seconds();
    is_warm_ = elapsed >= options_.max_warm_up.count();
    if (is_warm_ || warm_up_.size() < next_judgement_) return;
    next_judgement_ = warm_up_.size() + 1 + warm_up_.size() / 8;
    // Prefetched data says nothing about steps that have to wait for theirs.
    is_warm_ =
        warmed_up(warm_up_, elapsed) && trial_.raw.size() >= session_.session().seen().loaded_ahead;
  }

  void begin() override {
    const workload::Seen seen = session_.session().seen();
    if (seen.restart_seconds && options_.first_look)
      sampling_.hurry(seen.gpus.empty()
                          ? std::max(options_.min_time, core::Seconds(*seen.restart_seconds))
                          : options_.min_time / 2);
    count_steady_steps(seen);
    if (shared_.about.takes_real_time) {
      if (!shared_.about.rests_between_steps) read_program(seen);
      readings_.begin_steps();
    }
    is_sampling_ = true;
    start_clock();
  }

  // The two steps that show a GPU's warm-up to be over, by repeating, are as good as those that
  // follow. Steps of large batches are long.
  void count_steady_steps(const workload::Seen& seen) {
    if (options_.updates || options_.reads_energy) return;
    if (shared_.about.rests_between_steps || seen.gpus.empty()) return;
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

  // The devices of a program are known once it steps.
  void read_program(const workload::Seen& seen) {
    for (const workload::SeenGpu& gpu : seen.gpus)
      readings_.add_gpu(gpu.device, gpu.gpu, gpu.is_own);
    if (seen.gpus.empty()) readings_.add("cpu", true);
  }

  bool has_enough() const override { return sampling_.stop().has_value(); }

  void add(const trial::Step& step) override {
    if (step.warm_up) return add_warm_up(step);
    ++trial_.timings, sampled_samples_ += step.samples;
    clock_->add(step.seconds);
    sampling_.add(step.seconds, step.samples, counted_seconds_ + clock_->seconds());
    if (options_.updates && trial_.warm_up_steps + trial_.steps >= *options_.updates)
      sampling_.end(StopReason::max_steps);
    if (sampling_.stop()) look_longer();
  }

  // Whether inputs vary in length is known later than the speed.
  void look_longer() {
    const core::Seconds least(session_.session().seen().telling_seconds);
    if (std::exchange(looked_longer_, true) || least.count() <= 0 || options_.updates) return;
    if (least <= options_.max_time && steps_vary()) sampling_.go_on(least);
  }

  std::optional<trial::Interval> samples_per_second() const override {
    return sampling_.samples_per_second();
  }

  void summarize() {
    trial_.stop_reason = sampling_.stop();
    trial_.samples_per_second = sampling_.samples_per_second();
    if (!trial_.samples_per_second)
      throw workload::Ended(Outcome::crashed, "the program ended before two steps were measured");
    summarize_steps(trial_, [](const trial::Step& step) { return !step.warm_up; });
  }

  bool steps_vary() const {
    std::vector<double> seconds;
    for (const trial::Step& step : trial_.raw)
      if (!step.warm_up) seconds.push_back(per_update(step));
    if (seconds.size() < stats::min_batches_for_interval) return false;
    return *stats::robust_deviation(seconds) >=
           experiment::noticeable_share * *stats::median(seconds);
  }

  const MeasureOptions& options_;
  Shared shared_;
  SessionTrial session_;
  trial::Trial& trial_;
  telemetry::TrialReadings readings_;
  Sampling sampling_;
  std::optional<telemetry::Elapsed> clock_;  // of the warm-up, then of the sampling
  std::vector<double> warm_up_;              // seconds of its steps
  std::size_t next_judgement_ = 1;
  bool is_warm_ = false, is_sampling_ = false, looked_longer_ = false;
  double counted_seconds_ = 0;
  std::int64_t sampled_samples_ = 0;
};

}  // namespace

trial::Trial measure(workload::Workload& workload, const trial::Setting& setting,
                     const MeasureOptions& options, const Watch& watch,
                     const workload::Until& until, telemetry::Machine& machine) {
  return WholeTrial(workload, setting, options, watch, until, machine).run();
}

}  // namespace sweetspot::measure
