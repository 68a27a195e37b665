#include "cli/study_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/live/terminal.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/text.h"
#include "report/charts/plot.h"
#include "report/epochs.h"
#include "report/formats.h"
#include "report/html/html.h"
#include "report/text/rank_plan.h"
#include "report/text/screen.h"
#include "store/store.h"

namespace sweetspot::cli {
namespace {

constexpr std::size_t widest_plot = 76, plot_height = 13;

report::PlotOptions plot_options() {
  report::PlotOptions options;
  options.width = std::min(terminal_width() - 1, widest_plot);
  options.height = plot_height;
  options.utf8 = is_utf8_locale();
  return options;
}

std::string plot_of(const report::Answer& answer) {
  const std::string plot = report::plot(answer, plot_options());
  return plot.empty() ? "" : "\nsamples/s by batch\n" + plot;
}

// A more certain answer takes several times as long, and is requested by a flag: more rounds, or
// for a program more passes, for which a given budget has to last.
std::string more_certain(const StudyFlags& flags) {
  if (flags.command.given() && !flags.budget) return "--repeat 4";
  const double seconds = flags.budget ? 4 * flags.budget->count() : 120;
  return fmt::format("--budget {:.0f}{}", seconds < 120 ? seconds : seconds / 60,
                     seconds < 120 ? "s" : "m");
}

}  // namespace

void print_answer(const StudyFlags& flags, const report::Answer& answer, const std::string& page,
                  const advise::RankPlan* plan, Output& output) {
  if (flags.native.json) {
    nlohmann::ordered_json json = report::json(answer);
    if (plan) json["rank_plan"] = report::rank_plan_json(*plan);
    output.print_json(json);
  } else {
    report::ScreenOptions options;
    options.width = std::min<std::size_t>(terminal_width(), 100);
    options.utf8 = is_utf8_locale();
    options.more_certain = more_certain(flags);
    options.page = page;
    if (!answer.study.empty()) options.trials = "sweetspot studies show " + answer.study;
    report::Answer shown = answer;
    shown.message.clear();  // it goes to stderr
    output.print(report::screen(shown, options));
    if (flags.plot) output.print(plot_of(answer));
    if (plan) output.print(report::rank_plan_text(*plan, plot_options()));
  }
  write_exports(flags, answer);
}

void print_epochs(const StudyFlags& flags, const report::Answer& answer,
                  std::span<const std::int64_t> epochs, Output& output) {
  if (flags.native.json) {
    output.print_json(report::epoch_json(answer, epochs));
  } else {
    output.print(report::epoch_tables(answer.trials, epochs));
    const std::string sentence = report::epoch_sentence(answer.trials, epochs);
    if (!sentence.empty()) output.print("\n" + wrapped_lines(sentence));
  }
  if (flags.csv) report::write_file(*flags.csv, report::epoch_csv(answer.trials));
  if (flags.markdown) report::write_file(*flags.markdown, report::epoch_markdown(answer, epochs));
}

namespace {

// A run keeps summaries of resumed trials: the rest of them is in the store.
void recall(report::Answer& answer, const store::Store& store) {
  const auto study = store.study(std::stoll(answer.study));
  if (!study) return;
  answer.program = study->environment.program, answer.machine = study->environment.machine;
  answer.started_at = study->started_at;
  if (study->trials.size() == answer.trials.size()) answer.trials = study->trials;
}

}  // namespace

std::filesystem::path page_file(const std::string& store_url, const std::string& what) {
  if (store::is_postgres(store_url)) return fmt::format("sweetspot-{}.html", what);
  constexpr std::string_view scheme = "sqlite:";
  const std::filesystem::path file =
      store_url.starts_with(scheme) ? store_url.substr(scheme.size()) : store_url;
  return file.parent_path() / fmt::format("{}-{}.html", file.stem().string(), what);
}

std::filesystem::path report_file(const std::string& store_url, const std::string& study) {
  return page_file(store_url, "study-" + study);
}

void leave_report(report::Answer answer, const store::Store& store, const std::string& store_url) {
  const std::filesystem::path file = report_file(store_url, answer.study);
  try {
    recall(answer, store);
    report::write_file(file, report::html(std::move(answer)));
  } catch (const core::Error& error) {
    Output::talk(fmt::format("sweetspot: the report was not written: {}", error.what()));
  }
}

}  // namespace sweetspot::cli
