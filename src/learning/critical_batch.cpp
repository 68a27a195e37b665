#include "learning/critical_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.h"
#include "measure/run_guarded.h"
#include "telemetry/machine.h"

namespace sweetspot::learning {
namespace {

trial::Trial run_branch(workload::Branching& branching, const trial::Setting& setting,
                        std::int64_t samples, const std::atomic<int>& stop) {
  telemetry::Machine& machine = telemetry::this_machine();
  trial::Trial trial = measure::begin_trial(setting, branching.device(), machine);
  trial.memory_predicted = branching.predict(setting);
  const double begin = machine.now();
  measure::run_guarded(trial, [&] {
    const workload::Branch branch = branching.branch(setting, samples, stop);
    trial.outcome = branch.outcome, trial.note = branch.note;
    trial.steps = branch.steps, trial.samples_seen = branch.samples;
    if (branch.outcome == trial::Outcome::ok) trial.losses = {{branch.steps, branch.loss}};
  });
  trial.seconds = machine.now() - begin;
  return trial;
}

// For the branches of these settings: a diverged one has an infinite loss.
std::vector<convergence::BranchLoss> losses_of(std::span<const trial::Trial> trials) {
  std::vector<convergence::BranchLoss> losses;
  for (const trial::Trial& trial : trials) {
    const bool diverged = trial.outcome == trial::Outcome::crashed;
    if (!diverged && (trial.outcome != trial::Outcome::ok || trial.losses.empty())) continue;
    losses.push_back(
        {trial.setting.batch, trial.setting.seed,
         diverged ? std::numeric_limits<double>::infinity() : trial.losses.back().value});
  }
  return losses;
}

bool is_done(const study::Loop& loop, const trial::Setting& setting) {
  return std::ranges::find(loop.trials(), setting, &trial::Trial::setting) != loop.trials().end();
}

void add_settings(std::vector<advise::CriticalBatchAnswer::Row>& rows,
                  std::span<const trial::Trial> trials) {
  for (advise::CriticalBatchAnswer::Row& row : rows) {
    const auto ran = std::ranges::find_if(trials, [&](const trial::Trial& trial) {
      return trial.setting.batch == row.batch && trial.outcome != trial::Outcome::refused;
    });
    if (ran != trials.end())
      row.learning_rate = ran->setting.learning_rate, row.updates = ran->steps;
  }
}

std::string message_of(const std::optional<trial::End>& end) {
  if (!end)
    return "no two batches could be compared: the smallest one's branches failed; choose a smaller "
           "--lr";
  if (*end == trial::End::stopped) return "it was stopped; the same command goes on";
  return *end == trial::End::budget ? "the budget ended; the same command goes on" : "";
}

}  // namespace

study::Result critical_batch(workload::Branching& branching, store::Writer& writer,
                             const CriticalBatchOptions& options, study::Observer& observer,
                             const std::atomic<int>& stop) {
  const auto run = [&](const trial::Setting& setting, const measure::MeasureOptions&,
                       const measure::Watch&, const workload::Until& until) {
    return run_branch(branching, setting, options.samples, until.stop);
  };
  study::Loop loop(run, writer, options.loop, observer, stop);
  const workload::BranchPoint point = branching.begin(stop).value_or(workload::BranchPoint());
  const auto noise = point.noise_scale ? std::optional(point.noise_scale->mean) : std::nullopt;
  for (const std::uint64_t seed : options.seeds)
    for (const std::int64_t batch : options.batches) {
      trial::Setting setting = options.base;
      setting.batch = batch, setting.seed = seed;
      setting.learning_rate = convergence::learning_rate(
          options.rule, options.base.learning_rate, static_cast<double>(options.batches.front()),
          static_cast<double>(batch), noise);
      if (!loop.may_go_on()) break;
      if (is_done(loop, setting)) continue;
      const auto bytes = branching.predict(setting);
      if (bytes && options.memory_limit && *bytes > *options.memory_limit) {
        trial::Trial refused;
        refused.setting = setting, refused.device = branching.device();
        refused.outcome = trial::Outcome::refused;
        refused.memory_predicted = bytes;
        refused.note = fmt::format("{} predicted, {} allowed", core::format_bytes(*bytes),
                                   core::format_bytes(*options.memory_limit));
        loop.keep(std::move(refused));
      } else {
        loop.run(setting);
      }
    }
  loop.may_go_on();  // a stop at the very end counts
  advise::CriticalBatchAnswer made;
  made.epochs = point.epochs, made.checkpoint_loss = point.loss;
  made.noise_scale = point.noise_scale;
  made.samples = options.samples, made.tolerance = options.tolerance;
  made.learning_rate_rule = convergence::name(options.rule);
  made.set_found(convergence::critical_batch(losses_of(loop.trials()), options.tolerance));
  add_settings(made.rows, loop.trials());
  const bool found = made.found.has_value();
  using trial::End;
  return loop.finish({std::move(made),
                      loop.end().value_or(found ? End::found : End::nothing_feasible),
                      found && !loop.end() ? "" : message_of(loop.end())});
}

}  // namespace sweetspot::learning
