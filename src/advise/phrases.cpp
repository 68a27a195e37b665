#include "advise/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace sweetspot::advise {
namespace phrases {

std::string size(std::int64_t value) { return core::format_count(static_cast<double>(value)); }
std::string speed(double value) { return core::format_rounded(value) + " samples/s"; }
std::string percent(double share) { return fmt::format("{:.0f}%", 100 * share); }
std::string workers_word(int workers) {
  return fmt::format("{} loader worker{}", workers, workers == 1 ? "" : "s");
}

bool has_searched_workers(const Recommendation& made) {
  return made.worker_search && made.worker_search->tried.size() > 1;
}
bool has_other_loader(const Recommendation& made) {
  return made.loader_check && check_helped(*made.loader_check);
}
double gain(const LoaderCheck& check) {
  return check.samples_per_second.value_or(0) / check.samples_per_second_before - 1;
}

// The possible growth, if it is significant.
std::string growth_words(const Recommendation& made) {
  constexpr double worth_a_word = 0.01;
  if (!made.memory_bytes || !made.memory_margin || *made.memory_margin == 0 ||
      static_cast<double>(*made.memory_margin) <
          worth_a_word * static_cast<double>(*made.memory_bytes))
    return "";
  return fmt::format(" (and {} to grow)", core::format_bytes(*made.memory_margin));
}

// "18% less than the fastest (batch 1,024 at 700 W), 6% slower"; empty if it is the fastest.
std::string against_fastest(const Recommendation& made) {
  const Fastest best = fastest(made);
  if (!best.row || !made.best_joules_per_sample || !made.joules_per_sample) return "";
  const double saved = 1 - *made.joules_per_sample / *made.best_joules_per_sample;
  const double slower = 1 - made.samples_per_second / best.row->samples_per_second->mean;
  const bool own =
      !best.variant || is_same_variant(best.variant->configuration, made.setting.configuration);
  if (own && best.row->batch == made.batch) return "";
  const std::string where = best.variant ? name_of(*best.variant, made) : "";
  return fmt::format("{} {} than the fastest ({} {}{}), {} slower", percent(std::abs(saved)),
                     saved >= 0 ? "less" : "more", size_word(made), size(best.row->batch),
                     own || where.empty() ? "" : " at " + where, percent(std::max(0.0, slower)));
}

}  // namespace phrases

}  // namespace sweetspot::advise
