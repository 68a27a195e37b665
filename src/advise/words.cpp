#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "advise/advise.h"
#include "advise/phrases.h"
#include "core/text.h"

namespace sweetspot::advise {
namespace {

using namespace phrases;

constexpr std::array<std::string_view, 5> bottleneck_names{
    "step_overhead", "data_loading", "compute", "memory_bandwidth", "memory_capacity"};
constexpr std::array<std::string_view, 5> bottleneck_words{
    "step overhead", "data loading", "compute", "memory bandwidth", "memory capacity"};
constexpr std::array<std::string_view, 25> reason_names{
    "energy",      "precision",    "loss",     "noise",       "learning_rate",
    "step_cost",   "limit",        "given_up", "slow_kernel", "memory",
    "knee",        "accumulation", "workers",  "loader",      "loading_below",
    "neighbours",  "contended",    "changed",  "cut_short",   "confirmation",
    "inputs_vary", "several_gpus", "clamped",  "scaling",     "note"};

std::string duration(double seconds) { return core::format_duration(core::Seconds(seconds)); }

// "1.4", "267".
std::string times_words(double times) {
  return times < 10 ? fmt::format("{:.2g}", times) : core::format_count(std::round(times));
}

std::string limit_words(const Recommendation& made) {
  switch (*made.limited_by) {
    case Bottleneck::data_loading:
      return made.data_wait_share
                 ? fmt::format("loading limits it: {} of a step is spent waiting for data",
                               percent(*made.data_wait_share))
                 : "loading limits it";
    case Bottleneck::memory_capacity:
      return fmt::format("memory limits it: a larger {} would be faster", size_word(made));
    case Bottleneck::memory_bandwidth:
      return made.roofline && made.roofline->bytes
                 ? fmt::format("memory bandwidth limits it: activations alone take {} of it",
                               percent(*made.roofline->bytes))
                 : "memory bandwidth limits it";
    case Bottleneck::step_overhead:
      return "step overhead limits it";
    case Bottleneck::compute:
      break;
  }
  if (!made.roofline || !made.roofline->flops) return "compute limits it";
  constexpr double rounds_to_nothing = 0.005;
  const std::string share =
      *made.roofline->flops < rounds_to_nothing ? "less than 1%" : percent(*made.roofline->flops);
  // FLOPs are those of the layers as written; the engine skips some of them.
  if (*made.roofline->flops > 1)
    return fmt::format(
        "compute limits it (done directly, its arithmetic would take {} of this machine's peak)",
        share);
  return fmt::format("compute limits it, at {} of this machine's peak", share);
}

// "batch 57,344 would be 4% faster, take 9.1 times the memory and be 267 times the noise scale"
std::string given_up_words(const Recommendation& made) {
  constexpr double about_as_much = 1.05;
  const GivenUp& fastest = *made.given_up;
  std::vector<std::string> parts{fmt::format("be {} faster", percent(fastest.faster))};
  if (const double times = fastest.times_memory.value_or(1); times > about_as_much)
    parts.push_back(fmt::format("take {} times the memory", times_words(times)));
  else if (times < 1 / about_as_much && fastest.batch < made.batch)  // else it is noise
    parts.push_back(fmt::format("take {} of the memory", percent(times)));
  if (const double times = fastest.times_noise_scale.value_or(0); times > 1)
    parts.push_back(fmt::format("be {} times the noise scale", times_words(times)));
  std::string text =
      fmt::format("{} {} would {}", size_word(made), size(fastest.batch), parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i)
    text += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string slow_kernel_words(const SlowKernel& kernel) {
  const std::string others = kernel.alike == 0
                                 ? ""
                                 : fmt::format(" and {} other{} like it", size(kernel.alike),
                                               kernel.alike == 1 ? "" : "s");
  return fmt::format(
      "{}{} {} {} of a step, {:.0f} times what arithmetic and memory ask for: this is our kernel's "
      "cost, not your machine's, and the answer may be another one without it",
      core::printable(kernel.operation), others, kernel.alike == 0 ? "takes" : "take",
      percent(kernel.share), kernel.times_floor);
}

std::string memory_words(const Recommendation& made) {
  std::string text = fmt::format("{} {}{}", made.has_run_memory ? "a whole run takes" : "it took",
                                 core::format_bytes(*made.memory_bytes), growth_words(made));
  if (made.memory_limit)
    text += fmt::format(" of the {} allowed", core::format_bytes(*made.memory_limit));
  if (!made.memory_device.empty()) text += " on " + made.memory_device;
  if (made.largest_batch)
    text += fmt::format(", and {} {} is the largest to use", size_word(made),
                        size(*made.largest_batch));
  return text;
}

std::string confirmation_words(const Recommendation& made) {
  const Confirmation& run = *made.confirmation;
  const std::string larger =
      run.larger ? fmt::format("{} {} did not last; ", size_word(made), size(*run.larger)) : "";
  const std::string memory = run.memory ? ", " + core::format_bytes(*run.memory) + " at most" : "";
  if (run.confirmed)
    return fmt::format("{}{} {} lasted for {} ({} run{})", larger, size_word(made), size(run.batch),
                       run.asked, size(run.steps), memory);
  return fmt::format("{}not confirmed for {}{}", larger, run.asked,
                     run.why.empty() ? ": it was stopped" : ": " + core::printable(run.why));
}

// "an epoch", "40% of an epoch".
std::string epochs_words(double epochs) {
  constexpr double all_but = 0.995;
  return epochs > all_but ? "an epoch" : fmt::format("{:.2g}% of an epoch", 100 * epochs);
}

std::string noise_words(const Recommendation& made) {
  const auto noise = noise_scale(made);
  if (!noise) return "";
  const auto scale = [](const core::Interval& samples) {
    return fmt::format("{} ({}–{})", core::format_rounded(samples.mean),
                       core::format_rounded(samples.low), core::format_rounded(samples.high));
  };
  std::string text = fmt::format("batches beyond about {} need more epochs: the noise scale is ",
                                 core::format_rounded(noise->mean));
  if (made.noise->start) text += scale(*made.noise->start) + " at the start";
  if (made.noise->later)
    text += fmt::format("{}{} after {}", made.noise->start ? ", " : "", scale(*made.noise->later),
                        epochs_words(made.noise->epochs));
  return text;
}

std::string rule_words(const LearningRate& rate) {
  using convergence::LearningRateRule;
  switch (rate.rule) {
    case LearningRateRule::none:
      return "whatever the batch";
    case LearningRateRule::linear:
      return rate.noise_scale ? "linear in the batch up to the noise scale" : "linear in the batch";
    case LearningRateRule::square_root:
      return "by the square root of the batch";
    case LearningRateRule::adascale:
      return fmt::format("times AdaScale's gain of {:.3g}", rate.by_rule / rate.base.rate);
    case LearningRateRule::surge:
      return "rising up to the noise scale and falling beyond it";
  }
  return "";
}

std::string rate_words(const LearningRate& rate) {
  std::string text = fmt::format("--lr {:g} is {:g} at batch {}, {}", rate.by_rule, rate.base.rate,
                                 size(rate.base.batch), rule_words(rate));
  if (rate.tried.empty()) return text;
  std::string tried;
  for (const trial::RateRun& run : rate.tried) {
    tried += tried.empty() ? "" : ", ";
    tried += run.loss
                 ? fmt::format("{:.4g} at {:g}", *run.loss, run.learning_rate)
                 : fmt::format("diverged at step {} at {:g}", size(run.steps), run.learning_rate);
  }
  const auto done = std::ranges::find_if(
      rate.tried, [](const trial::RateRun& run) { return run.loss.has_value(); });
  if (done == rate.tried.end())
    return text + fmt::format("; --lr-check: {}: choose a smaller --lr", tried);
  text += fmt::format("; loss after {} steps: {}", size(done->steps), tried);
  return text + (rate.rate == rate.by_rule ? "" : fmt::format(", so --lr {:g}", rate.rate));
}

// Of the training on whose way the noise scale was measured.
std::string divergence_words(const Recommendation& made) {
  if (!made.noise || !made.noise->diverged_at_step) return "";
  const LearningRateBase& base = made.learning_rate->base;
  return fmt::format("; training at {:g} and batch {} diverged at step {}: choose a smaller --lr",
                     base.rate, size(base.batch), size(*made.noise->diverged_at_step));
}

std::string accumulation_words(const Recommendation& made) {
  const std::int64_t parts = made.setting.accumulation;
  if (parts == 1) return fmt::format("one micro-batch is the whole batch of {}", size(made.batch));
  return fmt::format("{} micro-batches of {} make the batch of {}", size(parts), size(made.batch),
                     size(*made.global_batch));
}

std::string worker_words(const WorkerSearch& search) {
  std::string tried;
  for (const auto& [batch, workers, samples_per_second] : search.tried)
    tried +=
        fmt::format("{}{} with {}", tried.empty() ? "" : ", ", speed(samples_per_second), workers);
  return fmt::format("{} {} enough ({})", workers_word(search.workers),
                     search.workers == 1 ? "is" : "are", tried);
}

std::string loader_words(const LoaderCheck& check) {
  const std::string tried =
      fmt::format("with --workers {} --prefetch {}", check.workers, check.prefetch);
  if (!check.samples_per_second) return tried + " the trial failed";
  std::string text = fmt::format("{} it trains {}, {:+.0f}%", tried,
                                 speed(*check.samples_per_second), 100 * gain(check));
  if (check.data_wait_share)
    text += fmt::format(", and waits for data {} of the time", percent(*check.data_wait_share));
  return text + (check_helped(check)
                     ? "; tune again with these flags: a smaller batch may then be enough"
                     : "");
}

std::string loading_below_words(const Recommendation& made) {
  return fmt::format(
      "at {} {}{} loading limits it ({} of a step): --workers {} --prefetch {} would hide it there",
      size_word(made), size(*made.loading_batch), *made.loading_batch == 1 ? "" : " and below",
      percent(made.loading_advice->hidden_share), made.loading_advice->workers,
      made.loading_advice->prefetch);
}

std::string energy_words(const Recommendation& made) {
  const std::string against = against_fastest(made);
  if (!made.joules_per_sample) return "";
  return fmt::format(
      "a sample takes {}{}", core::format_joules(*made.joules_per_sample),
      against.empty() ? ", and no other that is fast enough takes less" : ", " + against);
}

std::string precision_words(const Recommendation& made) {
  const trial::Configuration& chosen = made.setting.configuration;
  std::string text;
  for (const Variant& variant : made.variants) {
    trial::Configuration other = chosen;
    other.precision = variant.configuration.precision;
    if (other == chosen || !is_same_variant(variant.configuration, other)) continue;
    text += fmt::format("{}{} is {:.2f} times as fast as {} ({} at {} {})",
                        text.empty() ? "" : "; ", core::printable(chosen.precision),
                        made.samples_per_second / variant.samples_per_second,
                        core::printable(other.precision), speed(variant.samples_per_second),
                        size_word(made), size(variant.batch));
  }
  return text;
}

// Each precision once, at any power limit.
std::string loss_words(const Recommendation& made) {
  std::string text;
  std::vector<std::string> told;
  double least = 0, most = 0;
  for (const Variant& variant : made.variants) {
    const std::string& precision = variant.configuration.precision;
    if (!variant.loss || std::ranges::find(told, precision) != told.end()) continue;
    text += fmt::format("{}{:.4g} {}", told.empty() ? "" : ", ", *variant.loss,
                        core::printable(precision));
    least = told.empty() ? *variant.loss : std::min(least, *variant.loss);
    most = told.empty() ? *variant.loss : std::max(most, *variant.loss);
    told.push_back(precision);
  }
  if (told.size() < 2) return "";
  constexpr double about_the_same = 0.02;
  const double apart = (most - least) / std::max(std::abs(least), std::abs(most));
  return fmt::format(
      "loss after {} step{} at {} {}: {}, {}", size(*made.loss_step),
      *made.loss_step == 1 ? "" : "s", size_word(made), size(*made.loss_batch), text,
      !(apart > about_the_same) ? "about the same" : fmt::format("{} apart", percent(apart)));
}

std::string cut_short_words(const Recommendation& made) {
  if (!made.cut_short) return "";
  std::string why;
  switch (*made.cut_short) {
    case trial::End::budget:
      why = made.budget_seconds
                ? fmt::format("the budget of {} ended the search", duration(*made.budget_seconds))
                : "the budget ended the search";
      break;
    case trial::End::store_failed:
      why = "the store failed, which ended the search";
      break;
    case trial::End::device_lost:
      why = "the device was lost, which ended the search";
      break;
    default:
      why = "the search was stopped";
  }
  return why + ": this is the best known so far";
}

std::string notes_words(const Recommendation& made) {
  std::string text;
  for (const std::string& note : made.notes)
    text += (text.empty() ? "" : "; ") + core::printable(note);
  return text;
}

std::string several_gpus_words(const Recommendation& made) {
  const std::string gpus = size(made.gpus.value_or(1));
  switch (made.batch_is) {
    case trial::BatchIs::per_gpu:
      return fmt::format(
          "batches here are those of all {} GPUs together; the program is given "
          "that of each",
          gpus);
    case trial::BatchIs::global:
      return fmt::format("the batch is that of all {} GPUs together", gpus);
    case trial::BatchIs::unsaid:
      break;
  }
  return fmt::format(
      "the batch is assumed to be that of all {} GPUs together; use --batch-is per-gpu "
      "if the program takes the batch of each GPU",
      gpus);
}

// "2 ranks do 1.7 times the samples of one alone, 84% ±1 of what they could: 3% is lost by sharing
// the machine, 13% by summing gradients"
std::string scaling_words(const trial::Scaling& scaling) {
  const double shared = 1 - scaling.alone_seconds / scaling.apart_seconds;
  const double summed = 1 - scaling.efficiency.mean - std::max(shared, 0.);
  std::string text = fmt::format(
      "{} ranks do {:.2f} times the samples of one alone with its part of the batch: an efficiency "
      "of {} ±{:.0f}, measured",
      size(scaling.ranks), static_cast<double>(scaling.ranks) * scaling.efficiency.mean,
      percent(scaling.efficiency.mean),
      std::max(50 * (scaling.efficiency.high - scaling.efficiency.low), 1.));
  constexpr double worth_a_word = 0.01;
  std::vector<std::string> lost;
  if (shared >= worth_a_word)
    lost.push_back(fmt::format("{} by sharing the machine", percent(shared)));
  if (summed >= worth_a_word) lost.push_back(fmt::format("{} by summing", percent(summed)));
  if (lost.empty()) return text;
  return text + ", with " + lost.front() + (lost.size() > 1 ? " and " + lost.back() : "") + " lost";
}

}  // namespace

std::string_view name(Bottleneck bottleneck) {
  return bottleneck_names[static_cast<std::size_t>(bottleneck)];
}
std::string_view words(Bottleneck bottleneck) {
  return bottleneck_words[static_cast<std::size_t>(bottleneck)];
}
std::string_view name(Reason reason) { return reason_names[static_cast<std::size_t>(reason)]; }

std::string_view size_word(const Recommendation& made) {
  return made.global_batch ? "micro-batch" : "batch";
}

std::string words(Reason reason, const Recommendation& made) {
  switch (reason) {
    case Reason::energy:
      return energy_words(made);
    case Reason::precision:
      return precision_words(made);
    case Reason::loss:
      return made.loss_step && made.loss_batch ? loss_words(made) : "";
    case Reason::noise:
      return noise_words(made);
    case Reason::learning_rate:
      return made.learning_rate ? rate_words(*made.learning_rate) + divergence_words(made) : "";
    case Reason::step_cost:
      return made.step_cost ? fmt::format("a step costs {} + {} a sample",
                                          duration(made.step_cost->fixed_seconds),
                                          duration(made.step_cost->per_sample_seconds))
                            : "";
    case Reason::limit:
      return made.limited_by ? limit_words(made) : "";
    case Reason::given_up:
      return made.given_up ? given_up_words(made) : "";
    case Reason::slow_kernel:
      return made.slow_kernel ? slow_kernel_words(*made.slow_kernel) : "";
    case Reason::memory:
      return made.memory_bytes ? memory_words(made) : "";
    case Reason::knee:
      return fmt::format("the smallest {} within {:g}% of the fastest lies between {} and {} (95%)",
                         size_word(made), 100 * made.tolerance, size(made.knee_low),
                         size(made.knee_high));
    case Reason::accumulation:
      return made.global_batch ? accumulation_words(made) : "";
    case Reason::workers:
      return made.worker_search ? worker_words(*made.worker_search) : "";
    case Reason::loader:
      return made.loader_check ? loader_words(*made.loader_check) : "";
    case Reason::loading_below:
      return made.loading_batch && made.loading_advice ? loading_below_words(made) : "";
    case Reason::neighbours:
      return fmt::format("neighbours slowed this machine {} of the time",
                         percent(made.slowed_share.value_or(0)));
    case Reason::contended:
      return fmt::format("{} ({})",
                         made.contended ? "the machine was busy while it was measured"
                                        : "the machine was busy during some of the trials",
                         core::printable(made.contention_reason));
    case Reason::changed:
      return made.previous_batch
                 ? fmt::format("the {} was {} before; with more measurements it is {}",
                               made.global_batch ? "micro-batch" : "answer",
                               size(*made.previous_batch), size(made.batch))
                 : "";
    case Reason::cut_short:
      return cut_short_words(made);
    case Reason::confirmation:
      return made.confirmation ? confirmation_words(made) : "";
    case Reason::inputs_vary:
      return "its inputs seem to vary in length: a longer one may take more memory (--confirm "
             "epoch runs them all)";
    case Reason::several_gpus:
      return several_gpus_words(made);
    case Reason::clamped:
      return made.clamp_batch
                 ? fmt::format(
                       "the program seems to clamp its batch at about {}: larger ones are "
                       "run as that (if not so: --batch-arrives)",
                       size(*made.clamp_batch))
                 : "";
    case Reason::scaling:
      return made.scaling ? scaling_words(*made.scaling) : "";
    case Reason::note:
      return notes_words(made);
  }
  return "";
}

std::vector<std::string> reasons_in_words(const Recommendation& made) {
  std::vector<std::string> list;
  for (const Reason reason : made.reasons)
    if (std::string text = words(reason, made); !text.empty()) list.push_back(std::move(text));
  return list;
}

}  // namespace sweetspot::advise
