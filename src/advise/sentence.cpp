#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "advise/bottleneck.h"
#include "advise/phrases.h"
#include "core/text.h"

namespace sweetspot::advise {
namespace {

using namespace phrases;

bool has_others(const Recommendation& made) {
  return std::ranges::count_if(
             made.rows, [](const BatchRow& row) { return row.samples_per_second.has_value(); }) > 1;
}

// ", as 2 ranks × 4 × 32", of a sentence.
std::string ranks_part(const Recommendation& made) {
  if (made.ranks == 1) return "";
  return fmt::format(" as {} ranks × {}{}", size(made.ranks),
                     made.setting.accumulation > 1 ? size(made.setting.accumulation) + " × " : "",
                     size(made.rank_micro_batch()));
}

// ", the largest that fits in 16 GiB, evaluation included", of a sentence.
std::string largest_part(const Recommendation& made) {
  const auto failed = std::ranges::find_if(made.rows, [&](const BatchRow& row) {
    return row.batch > made.batch && row.outcome != trial::Outcome::ok;
  });
  if (failed != made.rows.end() && !is_for_memory(failed->outcome))
    return ", the largest that runs";
  std::string text = ", the largest that fits";
  if (made.memory_limit)
    text += fmt::format(" in {}{}", core::format_bytes(*made.memory_limit),
                        made.memory_device.empty() ? "" : " on " + made.memory_device);
  return text + (made.has_run_memory ? ", evaluation included" : "");
}

std::string head_of_sentence(const Recommendation& made) {
  std::string text = fmt::format("Train with batch {}", size(made.setting.batch));
  if (made.batch_is == trial::BatchIs::per_gpu && made.gpus.value_or(1) > 1)
    text += fmt::format(", {} on each of {} GPUs", size(made.setting.batch / *made.gpus),
                        size(*made.gpus));
  text += ranks_part(made);
  if (made.global_batch && made.ranks == 1)
    text += made.setting.accumulation == 1
                ? " as one micro-batch"
                : fmt::format(" as {} micro-batches of {}", size(made.setting.accumulation),
                              size(made.batch));
  for (const trial::SettingField* field : told_fields(made))
    text += fmt::format(" {} {}", field->preposition, field->phrase(field->of(made.setting)));
  if (has_searched_workers(made) || has_other_loader(made))
    text += " and " + workers_word(made.setting.configuration.workers);
  if (made.objective == search::Objective::max_batch) text += largest_part(made);
  return text;
}

// ", 10.2 GiB on cuda:0 (NVIDIA H200)", of a sentence.
std::string memory_part(const Recommendation& made) {
  if (!made.memory_bytes) return "";
  return fmt::format(", {}{}{}{}", core::format_bytes(*made.memory_bytes), growth_words(made),
                     made.memory_device.empty() ? "" : " on ", made.memory_device);
}

// "; 20 times the noise scale: expect more epochs", of a sentence.
std::string beyond_noise(const Recommendation& made) {
  if (made.noise && made.noise->diverged_at_step)
    return "; training diverged at this learning rate: choose a smaller --lr";
  const auto times = times_noise_scale(made);
  return times ? fmt::format("; {} times the noise scale: expect more epochs",
                             core::format_count(std::round(*times)))
               : "";
}

std::string energy_sentence(const Recommendation& made) {
  const std::string against = against_fastest(made);
  std::string text = fmt::format(
      "{}: {}/sample{}, {}", head_of_sentence(made), core::format_joules(*made.joules_per_sample),
      against.empty() ? "" : ", " + against, speed(made.samples_per_second));
  if (against.empty() && has_others(made)) text += ", the fastest";
  text += memory_part(made) + beyond_noise(made);
  if (made.contended) text += fmt::format("; {}", measured_while_busy);
  return text + ".";
}

}  // namespace

std::string sentence(const Recommendation& made) {
  if (made.objective == search::Objective::energy && made.joules_per_sample)
    return energy_sentence(made);
  std::string text = fmt::format("{}: {}", head_of_sentence(made), speed(made.samples_per_second));
  if (has_other_loader(made))
    text += fmt::format(", {} more", percent(gain(*made.loader_check)));
  else if (made.batch != made.best_batch)
    text += fmt::format(", {} of the fastest", percent(made.throughput_share));
  else if (has_others(made))
    text += ", the fastest";
  text += memory_part(made) + beyond_noise(made);
  if (made.confirmation && !made.confirmation->confirmed) text += "; not confirmed";
  if (made.contended) text += fmt::format("; {}", measured_while_busy);
  return text + ".";
}

std::string alike(const Recommendation& made) {
  if (made.objective == search::Objective::max_batch || made.alike_low >= made.alike_high)
    return "";
  return fmt::format("{}{} to {} would do about as well",
                     made.global_batch ? "micro-batches of " : "", size(made.alike_low),
                     size(made.alike_high));
}

}  // namespace sweetspot::advise
