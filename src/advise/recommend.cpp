#include <fmt/format.h>

#include <algorithm>

#include "advise/advise.h"
#include "advise/contention.h"
#include "core/reach.h"
#include "core/text.h"

namespace sweetspot::advise {
namespace {

std::string count(double value) { return core::format_count(value); }
std::string count(std::int64_t value) { return core::format_count(static_cast<double>(value)); }
std::string percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

// The most precise of the batch's trials; nothing when the batch is the model's idea alone.
const trial::Trial* trial_at(std::span<const trial::Trial> trials, std::int64_t batch) {
  const trial::Trial* best = nullptr;
  for (const trial::Trial& t : trials) {
    if (t.outcome != trial::Outcome::ok || t.setting.batch != batch || !t.samples_per_second)
      continue;
    if (!best ||
        t.samples_per_second->half_width_share() < best->samples_per_second->half_width_share())
      best = &t;
  }
  return best;
}

// Speeds at the knee are the model's, which heeds all trials; the largest batch has its own.
bool is_fitted(const search::Limits& limits) {
  return limits.objective == search::Objective::throughput;
}

std::string speed_reason(const search::Choice& choice, const trial::Trial* chosen,
                         const search::Limits& limits) {
  std::string text = fmt::format("batch {} trains {} samples/s", count(choice.batch),
                                 count(choice.samples_per_second));
  if (is_fitted(limits)) text += " by the curve fitted to all trials";
  if (chosen) {
    const trial::Interval& own = *chosen->samples_per_second;
    text += fmt::format(" (its own trial: {} {})", count(own.mean),
                        core::format_reach_percent(own.mean, own.low, own.high));
  }
  if (choice.batch == choice.best_batch) return text + ", the most of all that was found";
  return text +
         fmt::format(", {} of the best, {} at batch {}",
                     percent(choice.samples_per_second / choice.best_samples_per_second),
                     count(choice.best_samples_per_second), count(choice.best_batch)) +
         (limits.objective == search::Objective::throughput
              ? fmt::format(": a larger batch gains no more than the {} tolerated",
                            percent(limits.tolerance))
              : "");
}

// Where the trials leave open, by more than a quarter, which batch is the smallest that will do.
std::optional<std::string> doubt_reason(const search::Choice& choice, double tolerance) {
  constexpr double a_quarter_less = 0.75;
  if (static_cast<double>(choice.least_batch) >
      a_quarter_less * static_cast<double>(choice.sure_batch))
    return std::nullopt;
  return fmt::format(
      "the smallest batch within {} of the best lies between {} and {}: these trials do not tell "
      "more (95%)",
      percent(tolerance), count(choice.least_batch), count(choice.sure_batch));
}

std::string cost_reason(const StepCost& cost, std::int64_t batch) {
  return fmt::format("a step costs {} whatever its batch and {} a sample: {} of this step is fixed",
                     core::format_duration(core::Seconds(cost.fixed_seconds)),
                     core::format_duration(core::Seconds(cost.per_sample_seconds)),
                     percent(cost.fixed_share(batch)));
}

std::string memory_reason(core::Bytes bytes, const Facts& facts) {
  std::string text = fmt::format("it takes {} of memory", core::format_bytes(bytes));
  if (facts.limits.memory_limit)
    text += fmt::format(" of the {} allowed", core::format_bytes(*facts.limits.memory_limit));
  if (facts.largest_fitting)
    text +=
        fmt::format("; the largest batch that may be used is {}", count(*facts.largest_fitting));
  return text;
}

std::string bottleneck_reason(Bottleneck limited_by, const trial::Trial& trial,
                              const Facts& facts) {
  if (limited_by == Bottleneck::data_loading)
    return fmt::format("{} of the step is spent waiting for data: loading limits it",
                       percent(data_wait_share(trial).value_or(0)));
  const std::string text = fmt::format("what limits it is {}", words(limited_by));
  const RooflineShare share = roofline_share(trial.samples_per_second->mean, facts);
  // FLOPs are those of the layers as written; the engine leaves some of them out.
  if (limited_by == Bottleneck::compute && share.flops && *share.flops > 1)
    return text +
           fmt::format(": done directly, its arithmetic would take {} of this machine's peak",
                       percent(*share.flops));
  if (limited_by == Bottleneck::compute && share.flops)
    return text +
           fmt::format(": its arithmetic runs at {} of this machine's peak", percent(*share.flops));
  if (limited_by == Bottleneck::memory_bandwidth && share.bytes)
    return text + fmt::format(": its activations alone take {} of this machine's bandwidth",
                              percent(*share.bytes));
  return text;
}

// Loading that limits smaller batches only is hidden by a larger one; workers would hide it too.
std::optional<std::string> smaller_reason(std::span<const trial::Trial> trials,
                                          const search::Choice& choice, const Facts& facts) {
  if (!facts.has_loader) return std::nullopt;
  const trial::Trial* largest = nullptr;
  for (const trial::Trial& t : trials)
    if (t.setting.batch < choice.batch && (!largest || t.setting.batch > largest->setting.batch) &&
        bottleneck(t, trials, facts) == Bottleneck::data_loading)
      largest = &t;
  const auto advice = largest ? loader_advice(*largest) : std::nullopt;
  if (!advice) return std::nullopt;
  return fmt::format(
      "at batch {} and below loading is the limit ({} of the step): --workers {} --prefetch {} "
      "would "
      "hide it there, and a smaller batch may do then",
      count(largest->setting.batch), percent(advice->hidden_share), advice->workers,
      advice->prefetch);
}

std::string loader_reason(const LoaderCheck& check) {
  const std::string tried =
      fmt::format("with --workers {} --prefetch {}", check.workers, check.prefetch);
  if (!check.samples_per_second) return fmt::format("{} the trial failed", tried);
  const double gain = *check.samples_per_second / check.samples_per_second_before - 1;
  std::string text = fmt::format("{} it trains {} samples/s, {:+.0f}%", tried,
                                 count(*check.samples_per_second), 100 * gain);
  if (check.data_wait_share)
    text += fmt::format(", and waits for data {} of the time", percent(*check.data_wait_share));
  return text + (check_helped(check) ? "; a smaller batch may do then: run tune with these" : "");
}

std::string worker_reason(const WorkerSearch& search) {
  std::string tried;
  for (const auto& [batch, workers, speed] : search.tried)
    tried += fmt::format("{}{} samples/s with {} at batch {}", tried.empty() ? "" : ", ",
                         count(speed), workers, count(batch));
  return fmt::format("loader workers were searched: {}; {} {} enough", tried, search.workers,
                     search.workers == 1 ? "is" : "are");
}

std::string accumulation_reason(std::int64_t global_batch, std::int64_t micro_batch) {
  return fmt::format("the batch stays {}: {} micro-batches of {} make each weight update",
                     count(global_batch), count(global_batch / micro_batch), count(micro_batch));
}

std::vector<std::string> reasons(std::span<const trial::Trial> trials, const search::Choice& choice,
                                 const trial::Trial* chosen, const Recommendation& made,
                                 const Facts& facts) {
  std::vector<std::string> list;
  const auto contended = contention_reason(trials, choice);
  const bool doubtful = rests_on_contended(trials, choice);
  if (doubtful) list.push_back(*contended);  // before anybody believes the rest
  list.push_back(speed_reason(choice, chosen, facts.limits));
  if (auto doubt = doubt_reason(choice, facts.limits.tolerance)) list.push_back(std::move(*doubt));
  if (const auto cost = step_cost(trials)) list.push_back(cost_reason(*cost, choice.batch));
  if (made.memory_bytes) list.push_back(memory_reason(*made.memory_bytes, facts));
  if (made.limited_by && chosen)
    list.push_back(bottleneck_reason(*made.limited_by, *chosen, facts));
  if (facts.global_batch) list.push_back(accumulation_reason(*facts.global_batch, choice.batch));
  if (facts.worker_search && facts.worker_search->tried.size() > 1)
    list.push_back(worker_reason(*facts.worker_search));
  if (facts.loader_check)
    list.push_back(loader_reason(*facts.loader_check));
  else if (const auto smaller = smaller_reason(trials, choice, facts))
    list.push_back(*smaller);
  if (contended && !doubtful) list.push_back(*contended);
  if (const auto disturbed = disturbance_reason(trials)) list.push_back(*disturbed);
  if (!facts.cut_short.empty())
    list.push_back(fmt::format("{}: this is the best known so far", facts.cut_short));
  else if (!choice.settled)
    list.push_back("the noise leaves room for a batch that is better by more than the tolerance");
  return list;
}

std::string sentence(const search::Choice& choice, const Recommendation& made, const Facts& facts) {
  std::string text = fmt::format("Train with batch {}", count(choice.batch));
  if (facts.global_batch)
    text = fmt::format("Train with batch {} as {} micro-batches of {}", count(*facts.global_batch),
                       count(*facts.global_batch / choice.batch), count(choice.batch));
  if (facts.worker_search && facts.worker_search->tried.size() > 1)
    text += fmt::format(" and {} loader worker{}", made.setting.workers,
                        made.setting.workers == 1 ? "" : "s");
  if (facts.loader_check && check_helped(*facts.loader_check))
    text += fmt::format(" and {} loader workers", made.setting.workers);
  text += fmt::format(": {} samples/s{}", count(made.samples_per_second),
                      made.fitted ? " (fitted)" : "");
  if (facts.limits.objective == search::Objective::max_batch)
    text += facts.limits.memory_limit && facts.largest_fitting
                ? fmt::format(", the largest that fits in {}",
                              core::format_bytes(*facts.limits.memory_limit))
                : ", the largest there is";
  else if (choice.batch == choice.best_batch)
    text += ", the most this machine gave";
  else
    text += fmt::format(", {} of the best ({} at batch {})", percent(made.throughput_share),
                        count(choice.best_samples_per_second), count(choice.best_batch));
  if (made.memory_bytes) text += fmt::format(", with {}", core::format_bytes(*made.memory_bytes));
  if (made.contended) text += fmt::format("; {}", measured_while_busy);
  return text + ".";
}

}  // namespace

bool check_helped(const LoaderCheck& check) {
  constexpr double worth_changing = 1.05;
  return check.samples_per_second &&
         *check.samples_per_second > worth_changing * check.samples_per_second_before;
}

std::optional<Recommendation> recommend(std::span<const trial::Trial> trials,
                                        const search::Choice& choice, const Facts& facts) {
  if (trials.empty()) return std::nullopt;
  const trial::Trial* chosen = trial_at(trials, choice.batch);
  Recommendation made;
  made.setting = chosen ? chosen->setting : trials.front().setting;
  made.setting.batch = choice.batch;
  made.samples_per_second = choice.samples_per_second;
  made.fitted = is_fitted(facts.limits);
  made.throughput_share = choice.samples_per_second / choice.best_samples_per_second;
  if (chosen) {
    made.memory_bytes =
        chosen->memory_measured ? chosen->memory_measured : chosen->memory_predicted;
    made.limited_by = bottleneck(*chosen, trials, facts);
  }
  if (facts.loader_check && check_helped(*facts.loader_check)) {
    made.setting.workers = facts.loader_check->workers;
    made.setting.prefetch = facts.loader_check->prefetch;
    made.samples_per_second = *facts.loader_check->samples_per_second, made.fitted = false;
    made.throughput_share = std::min(1.0, made.samples_per_second / choice.best_samples_per_second);
    if (facts.loader_check->memory_bytes) made.memory_bytes = facts.loader_check->memory_bytes;
  }
  made.contended = rests_on_contended(trials, choice);
  made.reasons = reasons(trials, choice, chosen, made, facts);
  made.sentence = sentence(choice, made, facts);
  return made;
}

}  // namespace sweetspot::advise
