#include "report/text/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "advise/figures.h"
#include "core/text.h"
#include "report/epochs.h"
#include "report/markup.h"
#include "report/speeds.h"
#include "trial/setting_fields.h"

namespace sweetspot::report {
namespace {

std::string count(double value) { return core::format_count(value); }
std::string count(std::int64_t value) { return count(static_cast<double>(value)); }

std::vector<Figure> recommended(const advise::Recommendation& made) {
  std::vector<Figure> list;
  for (const advise::Figure& figure : advise::figures()) {
    if (!figure.page_title) continue;
    const advise::BatchRow* row = made.chosen_row();
    const std::string words = figure.of_answer ? figure.of_answer(made)
                              : row            ? figure.cell(*row, made).words
                                               : "";
    if (words.empty()) continue;
    std::string title = figure.page_title;
    title.front() = static_cast<char>(std::toupper(title.front()));
    list.push_back({std::move(title), words});
  }
  return list;
}

// For whole training runs, after each number of epochs that any of them reached.
std::string trained_sentence(const ShownStudy& study) {
  std::size_t most = 0;
  for (const trial::Trial& t : study.trials) most = std::max(most, t.epochs.size());
  std::vector<std::int64_t> epochs(most);
  std::iota(epochs.begin(), epochs.end(), 1);
  return most == 0 ? "" : epoch_sentence(study.trials, epochs);
}

}  // namespace

std::string sentence(const ShownStudy& study) {
  if (study.recommendation()) return advise::sentence(*study.recommendation());
  if (study.to_target()) return advise::sentence(*study.to_target());
  if (study.critical_batch()) return advise::sentence(*study.critical_batch(), study.workload);
  if (const std::string trained = trained_sentence(study); !trained.empty()) return trained;
  const auto found = measured(study);
  if (!found) return "";
  std::string text =
      fmt::format("The fastest was batch {} with {} samples/s", count(found->best_batch),
                  core::format_rounded(found->best_samples_per_second));
  if (found->knee_batch != found->best_batch)
    text += fmt::format("; the smallest within {:g}% of it is batch {} with {} samples/s",
                        100 * study.facts.limits.tolerance, count(found->knee_batch),
                        core::format_rounded(found->knee_samples_per_second));
  if (found->contended) text += fmt::format("; {}", advise::measured_while_busy);
  return text + ".";
}

std::vector<Figure> figures(const ShownStudy& study) {
  std::vector<Figure> list;
  if (study.recommendation())
    list = recommended(*study.recommendation());
  else if (const auto found = measured(study))
    list = {{"Fastest batch", count(found->best_batch)},
            {"Samples per second", core::format_rounded(found->best_samples_per_second)},
            {fmt::format("Smallest within {:g}%", 100 * study.facts.limits.tolerance),
             count(found->knee_batch)}};
  for (Figure& figure : list) figure.value = with_thin_spaces(figure.value);
  return list;
}

}  // namespace sweetspot::report
