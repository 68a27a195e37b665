#include "learning/time_to_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "convergence/samples_to_target.h"
#include "core/text.h"

namespace sweetspot::learning {
namespace {

std::int64_t nearest(const std::vector<search::BatchSpeed>& candidates, std::int64_t batch) {
  const auto away = [batch](const search::BatchSpeed& each) {
    return std::abs(std::log(static_cast<double>(each.batch) / static_cast<double>(batch)));
  };
  return std::ranges::min_element(candidates, {}, away)->batch;
}

bool is_cut(const trial::Trial& trial) {
  return trial.stop_reason == trial::StopReason::time_limit;
}

class TargetSearch {
 public:
  TargetSearch(workload::Training& training, store::Writer& writer, const TargetOptions& options,
               study::Observer& observer, const std::atomic<int>& stop)
      : training_(training),
        options_(options),
        pilot_(nearest(options.candidates, options.base_batch)),
        loop_(
            [this](const trial::Setting& setting, const measure::MeasureOptions&,
                   const measure::Watch& watch, const workload::Until& until) {
              return learning::train(training_, setting, wanted_, watch, until);
            },
            writer, options.loop, observer, stop) {
    rules_.finalists = options.finalists;
    rules_.seeds = options.seeds;
    rules_.pilot = pilot_;
  }

  study::Result run() {
    while (loop_.may_go_on() && !metric_is_missing()) {
      const auto next = convergence::next_run(entries(), race_runs(), rules_);
      if (!next) break;
      train(*next);
      loop_.set_answer({answer()});
    }
    const advise::TimeToTarget made = answer();
    return loop_.finish({made, end(made), message(made)});
  }

 private:
  const search::BatchSpeed& candidate(std::int64_t batch) const {
    return *std::ranges::find(options_.candidates, batch, &search::BatchSpeed::batch);
  }
  double speed(std::int64_t batch) const { return candidate(batch).samples_per_second.mean; }
  double cost_of_sample(std::int64_t batch) const {
    if (options_.for_energy) return candidate(batch).joules_per_sample->mean;
    return 1 / speed(batch);
  }

  void train(const convergence::RaceStep& step) {
    trial::Setting setting = options_.base;
    setting.batch = step.batch;
    setting.learning_rate = learning_rate(step.batch);
    setting.seed = options_.base.seed + static_cast<std::uint64_t>(step.seed);
    wanted_ = {options_.most_epochs, options_.target};
    if (step.most_cost)
      wanted_.most_samples =
          static_cast<std::int64_t>(std::ceil(*step.most_cost / cost_of_sample(step.batch)));
    loop_.run(setting);
  }

  // By the runs' own clocks, unless other work disturbed them.
  advise::SecondsBasis basis() const {
    const auto disturbed = [](const trial::Trial& trial) { return trial.contention.contended; };
    return std::ranges::any_of(loop_.trials(), disturbed) ? advise::SecondsBasis::speed
                                                          : advise::SecondsBasis::clock;
  }

  double seconds_of(double samples, double clock_seconds, std::int64_t batch) const {
    return basis() == advise::SecondsBasis::speed ? samples / speed(batch) : clock_seconds;
  }

  std::optional<trial::Reached> reached(const trial::Trial& trial) const {
    return trial::first_reached(trial.evaluations, options_.target);
  }

  // Stopped for being slower than others, and trained again when all were requested.
  bool is_superseded(const trial::Trial& trial) const {
    const auto again = [&](const trial::Trial& other) {
      return other.setting == trial.setting && other.stop_reason != trial::StopReason::max_steps;
    };
    return trial.stop_reason == trial::StopReason::max_steps &&
           std::ranges::any_of(loop_.trials(), again);
  }

  std::vector<convergence::RaceRun> race_runs() const {
    std::vector<convergence::RaceRun> runs;
    for (const trial::Trial& trial : loop_.trials()) {
      if (is_superseded(trial)) continue;
      const std::int64_t batch = trial.setting.batch;
      convergence::RaceRun run{batch, static_cast<int>(trial.setting.seed - options_.base.seed)};
      run.failed = trial.outcome != trial::Outcome::ok;
      run.given_up = trial.stop_reason == trial::StopReason::max_steps;
      if (const auto to = reached(trial); to && !run.failed)
        run.cost = options_.for_energy ? to->samples * cost_of_sample(batch)
                                       : seconds_of(to->samples, to->train_seconds, batch);
      else if (is_cut(trial))
        continue;  // it may later: another run of the study trains it again
      runs.push_back(run);
    }
    return runs;
  }

  std::vector<convergence::TargetRun> runs_but(std::optional<std::int64_t> batch) const {
    std::vector<convergence::TargetRun> runs;
    for (const trial::Trial& trial : loop_.trials())
      if (const auto to = reached(trial);
          to && trial.outcome == trial::Outcome::ok && trial.setting.batch != batch)
        runs.push_back({trial.setting.batch, to->samples});
    return runs;
  }

  // Of the first run, on which all others are based.
  std::optional<double> noise_batch() const {
    for (const trial::Trial& trial : loop_.trials()) {
      if (trial.setting.batch != pilot_ || trial.setting.seed != options_.base.seed) continue;
      std::vector<convergence::NoiseAt> noise;
      for (const trial::Evaluation& at : trial.evaluations)
        if (at.noise_scale) noise.push_back({at.steps, *at.noise_scale});
      return convergence::critical_batch_by_noise(noise, static_cast<double>(pilot_));
    }
    return std::nullopt;
  }

  convergence::CriticalBatchGuess guess() const {
    const bool adaptive = options_.adaptive_optimizer;
    const std::optional<double> noise = noise_batch();
    return noise ? convergence::guess_by_noise(*noise, adaptive)
                 : convergence::CriticalBatchGuess{.adaptive_optimizer = adaptive};
  }

  convergence::LearningRateRule rule() const {
    if (!options_.sets_learning_rate) return convergence::LearningRateRule::none;
    // The noise scale of one run is too uncertain for a rule that falls beyond it.
    return options_.rule.value_or(convergence::default_rule(options_.adaptive_optimizer, false));
  }

  // The first run cannot use the noise scale that only it measures. Three digits: the recommended
  // command has exactly the rate that was trained with.
  double learning_rate(std::int64_t batch) const {
    const double rate = convergence::learning_rate(
        rule(), options_.base.learning_rate, static_cast<double>(options_.base_batch),
        static_cast<double>(batch), batch == pilot_ ? std::nullopt : noise_batch());
    return std::stod(fmt::format("{:.3g}", rate));
  }

  std::vector<convergence::RaceEntry> entries() const {
    std::vector<convergence::RaceEntry> list;
    for (const search::BatchSpeed& each : options_.candidates) {
      const convergence::SamplesToTarget law(runs_but(each.batch), guess());
      const stats::Interval samples = law.at(static_cast<double>(each.batch));
      const double cost = cost_of_sample(each.batch);
      list.push_back({each.batch, cost * samples.mean, cost * samples.low});
    }
    return list;
  }

  bool metric_is_missing() const {
    bool any = false;
    for (const trial::Trial& trial : loop_.trials()) {
      if (trial.outcome != trial::Outcome::ok) continue;
      if (trial::best(trial.evaluations, options_.target.metric)) return false;
      any = true;
    }
    return any;
  }

  advise::TargetRunTold told(const trial::Trial& trial) const {
    advise::TargetRunTold run;
    run.seed = trial.setting.seed;
    run.best = trial::best(trial.evaluations, options_.target.metric);
    trial::Reached to;
    if (!trial.evaluations.empty()) {
      const trial::Evaluation& last = trial.evaluations.back();
      to = {static_cast<double>(last.steps), static_cast<double>(last.samples), last.train_seconds};
    } else {
      const auto samples = static_cast<double>(trial.samples_seen);
      to = {static_cast<double>(trial.steps), samples, samples / speed(trial.setting.batch)};
    }
    if (const auto found = reached(trial)) to = *found, run.reached = true;
    run.samples = to.samples, run.updates = to.steps, run.clock_seconds = to.train_seconds;
    run.seconds = seconds_of(to.samples, to.train_seconds, trial.setting.batch);
    return run;
  }

  advise::TargetRow row_of(const search::BatchSpeed& each) const {
    advise::TargetRow row;
    row.batch = each.batch;
    row.learning_rate = learning_rate(each.batch);
    row.samples_per_second = each.samples_per_second;
    row.joules_per_sample = each.joules_per_sample;
    if (const auto others = runs_but(each.batch); !others.empty()) {
      const stats::Interval samples =
          convergence::SamplesToTarget(others, guess()).at(static_cast<double>(each.batch));
      const double its_speed = each.samples_per_second.mean;
      row.predicted_samples = samples;
      row.predicted_seconds = core::Interval{samples.mean / its_speed, samples.low / its_speed,
                                             samples.high / its_speed};
    }
    for (const trial::Trial& trial : loop_.trials()) {
      if (trial.setting.batch != each.batch || is_superseded(trial)) continue;
      row.learning_rate = trial.setting.learning_rate;
      if (trial.outcome == trial::Outcome::ok)
        row.runs.push_back(told(trial));
      else
        row.failure = fmt::format("{}{}", name(trial.outcome),
                                  trial.note.empty() ? "" : ": " + core::printable(trial.note));
    }
    return row;
  }

  advise::TimeToTarget answer() const {
    advise::TimeToTarget made;
    made.target = options_.target;
    made.for_energy = options_.for_energy;
    made.seeds = options_.seeds;
    if (options_.sets_learning_rate) made.learning_rate_rule = convergence::name(rule());
    made.base_learning_rate = options_.base.learning_rate;
    made.base_batch = options_.base_batch;
    made.basis = basis();
    if (const auto samples = training_.samples()) {
      made.samples_in_epoch = static_cast<double>(*samples);
      made.most_epochs = options_.most_epochs;
    }
    made.noise_batch = noise_batch();
    const std::vector<convergence::TargetRun> runs = runs_but(std::nullopt);
    if (!runs.empty())
      made.critical_batch = convergence::SamplesToTarget(runs, guess()).critical_batch();
    made.throughput_batch = options_.throughput_batch;
    made.metric_missing = metric_is_missing();
    made.cut_short = loop_.end();
    for (const search::BatchSpeed& each : options_.candidates) made.rows.push_back(row_of(each));
    for (const trial::Trial& trial : loop_.trials()) {
      made.seconds_spent += trial.seconds;
      const auto best = trial::best(trial.evaluations, options_.target.metric);
      if (best && (!made.best || trial::is_better(*best, *made.best, options_.target.metric)))
        made.best = best, made.best_batch = trial.setting.batch;
    }
    made.batch = convergence::winner(race_runs());
    if (made.batch && options_.command) {
      trial::Setting setting = options_.base;
      setting.batch = *made.batch;
      setting.learning_rate = made.chosen()->learning_rate;
      made.command = options_.command(setting) + epochs_flag(made);
    }
    return made;
  }

  // As many as the answer's runs needed; a program decides itself.
  static std::string epochs_flag(const advise::TimeToTarget& made) {
    const std::vector<double> samples = made.chosen()->samples();
    if (!made.samples_in_epoch || samples.empty()) return "";
    return fmt::format(" --epochs {:.0f}",
                       std::ceil(std::ranges::max(samples) / *made.samples_in_epoch));
  }

  trial::End end(const advise::TimeToTarget& made) const {
    using trial::End;
    if (loop_.end() && (loop_.end() != End::budget || made.batch || loop_.trials().empty()))
      return *loop_.end();
    if (made.batch) return End::found;
    if (loop_.end()) return End::not_reached;
    if (made.metric_missing) return End::metric_missing;
    return made.best ? End::not_reached : End::nothing_feasible;
  }

  std::string message(const advise::TimeToTarget& made) const {
    using trial::End;
    switch (end(made)) {
      case End::not_reached:
        return advise::sentence(made);
      case End::metric_missing:
        if (options_.if_metric_missing.empty()) return advise::sentence(made);
        return fmt::format("no run reported its {}{}", trial::name(options_.target.metric),
                           options_.if_metric_missing);
      case End::nothing_feasible:
        for (const advise::TargetRow& row : made.rows)
          if (!row.failure.empty())
            return fmt::format("no batch could be trained: batch {} ended as {}",
                               core::format_count(static_cast<double>(row.batch)), row.failure);
        return "no batch could be trained";
      case End::budget:
        return "the budget ended before every seed had run; the same command goes on";
      case End::stopped:
        return "it was stopped; the same command goes on";
      default:
        return "";
    }
  }

  workload::Training& training_;
  const TargetOptions& options_;
  std::int64_t pilot_;
  convergence::RaceRules rules_;
  TrainFor wanted_;
  study::Loop loop_;
};

}  // namespace

study::Result reach_target(workload::Training& training, store::Writer& writer,
                           const TargetOptions& options, study::Observer& observer,
                           const std::atomic<int>& stop) {
  return TargetSearch(training, writer, options, observer, stop).run();
}

}  // namespace sweetspot::learning
