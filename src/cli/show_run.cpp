#include "cli/show_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/live/terminal.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/text.h"
#include "report/charts/plot.h"
#include "report/critical_batch.h"
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

std::string plot_of(const report::ShownStudy& study) {
  const std::string plot = report::plot(study, plot_options());
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

nlohmann::ordered_json json_of(const report::ShownStudy& study, const RunForms& forms) {
  if (study.critical_batch()) return report::critical_batch_json(study);
  if (!forms.epochs.empty()) return report::epoch_json(study, forms.epochs);
  nlohmann::ordered_json json = report::json(study);
  if (forms.plan) json["rank_plan"] = report::rank_plan_json(*forms.plan);
  return json;
}

std::string screen_of(const StudyFlags& flags, const report::ShownStudy& study,
                      const RunForms& forms, const std::filesystem::path& page) {
  if (study.critical_batch()) return report::critical_batch_text(study);
  if (!forms.epochs.empty()) {
    const std::string sentence = report::epoch_sentence(study.trials, forms.epochs);
    return report::epoch_tables(study.trials, forms.epochs) +
           (sentence.empty() ? "" : "\n" + wrapped_lines(sentence));
  }
  report::ScreenOptions options;
  options.width = std::min<std::size_t>(terminal_width(), 100);
  options.utf8 = is_utf8_locale();
  options.more_certain = more_certain(flags);
  options.page = page.string();
  options.with_message = false;  // it goes to stderr
  if (!study.number.empty()) options.trials = "sweetspot studies show " + study.number;
  return report::screen(study, options) + (flags.plot ? plot_of(study) : "") +
         (forms.plan ? report::rank_plan_text(*forms.plan, plot_options()) : "");
}

void write_exports(const StudyFlags& flags, const report::ShownStudy& study,
                   std::span<const std::int64_t> epochs) {
  if (flags.csv)
    report::write_file(*flags.csv,
                       epochs.empty() ? report::csv(study) : report::epoch_csv(study.trials));
  if (flags.markdown)
    report::write_file(*flags.markdown, epochs.empty() ? report::markdown(study)
                                                       : report::epoch_markdown(study, epochs));
}

// A run is not lost to a report that cannot be written: a message says so.
void leave_page(const std::filesystem::path& file, report::ShownStudy study) {
  try {
    report::write_file(file, report::html(std::move(study)));
  } catch (const core::Error& error) {
    Output::talk(fmt::format("sweetspot: the report was not written: {}", error.what()));
  }
}

}  // namespace

report::ShownStudy shown_run(const store::Store& store, const trial::Study& opened,
                             const study::Result& result) {
  return report::shown_study(study::stored_study(store, opened, result),
                             report::RunInfo{result.answer.end, result.answer.message,
                                             result.resumed, result.spent.count()});
}

int show_run(const StudyFlags& flags, report::ShownStudy study, const RunForms& forms,
             Output& output) {
  std::filesystem::path page;
  if (forms.page && !study.trials.empty())
    page = report_file(store::store_url(flags.db), study.number);
  if (flags.native.json)
    output.print_json(json_of(study, forms));
  else
    output.print(screen_of(flags, study, forms, page));
  write_exports(flags, study, forms.epochs);
  for (const std::string& words : {forms.note, study.answer.message})
    if (!words.empty()) Output::talk(fmt::format("sweetspot: {}", words));
  const int code = exit_code(study.answer.end);
  if (!page.empty()) leave_page(page, std::move(study));
  return code;
}

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

}  // namespace sweetspot::cli
