#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands/commands.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "cli/show_run.h"
#include "cli/stored_study.h"
#include "core/error.h"
#include "core/json_values.h"
#include "core/text.h"
#include "report/compare/formats.h"
#include "report/compare/several.h"
#include "report/epochs.h"
#include "report/exports/tensorboard/tensorboard.h"
#include "report/formats.h"
#include "report/html/html.h"
#include "report/shown_study.h"
#include "report/study_summary.h"
#include "store/store.h"

namespace sweetspot::cli {
namespace {

enum class Form { unsaid, html, markdown, csv, json };

struct ReportFlags {
  std::optional<std::string> db, output;
  std::optional<std::string> study;
  std::optional<std::filesystem::path> tensorboard;
  std::vector<std::string> compare;  // none, or two and more
  Form form = Form::unsaid;

  std::string url() const { return store::store_url(db); }
};

std::string json_text(const nlohmann::ordered_json& json) {
  return core::json_text(json, 2) + "\n";
}

// After each epoch, if it is a sweep that trains.
std::vector<std::int64_t> epochs_of(const report::ShownStudy& study) {
  std::vector<std::int64_t> epochs(
      static_cast<std::size_t>(std::clamp<std::int64_t>(study.swept_epochs.value_or(0), 0, 1000)));
  std::iota(epochs.begin(), epochs.end(), 1);
  return epochs;
}

std::string text_of(report::ShownStudy study, Form form) {
  const std::vector<std::int64_t> epochs = epochs_of(study);
  switch (form) {
    case Form::unsaid:
    case Form::html:
      return report::html(std::move(study));
    case Form::markdown:
      return epochs.empty() ? report::markdown(study) : report::epoch_markdown(study, epochs);
    case Form::csv:
      return report::csv(study);
    case Form::json:
      return json_text(epochs.empty() ? report::json(study) : report::epoch_json(study, epochs));
  }
  return "";
}

// Of two studies, or of several.
template <class Comparison>
std::string comparison_text(const Comparison& comparison, Form form) {
  switch (form) {
    case Form::unsaid:
      return report::compare::text(comparison);
    case Form::html:
      return report::compare::html(comparison);
    case Form::markdown:
      return report::compare::markdown(comparison);
    case Form::csv:
      throw core::InputError("--compare has no --csv; use --json, --markdown or --html");
    case Form::json:
      return json_text(report::compare::json(comparison));
  }
  return "";
}

report::compare::Side side_of(const std::string& text, const ReportFlags& flags) {
  const StudyName name = parse_study_name(text, flags.url());
  trial::Study study = stored_study(name.url, name.which);
  const std::string place = name.url == flags.url() ? "" : " of " + name.url;
  const std::string label = report::study_summary(study.study_key).name;
  return {fmt::format("study {}{}{}: {} on {}", study.id,
                      label.empty() ? "" : fmt::format(" “{}”", label), place,
                      study.study_key.workload, study.environment.machine),
          std::move(study)};
}

int write_tensorboard(const ReportFlags& flags, const report::ShownStudy& study, Output& output) {
  const std::size_t runs = report::tensorboard::write(*flags.tensorboard, study);
  if (runs == 0)
    throw core::InputError(fmt::format("study {} has no trials yet, so there is nothing to write",
                                       core::printable(study.number)));
  output.print(fmt::format("{} run{} in {}\n", runs, runs == 1 ? "" : "s",
                           core::printable(flags.tensorboard->string())));
  return 0;
}

int report(const ReportFlags& flags, Output& output) {
  if (flags.output && *flags.output != "-") report::check_can_write(*flags.output, "--output");
  std::filesystem::path file = flags.output.value_or("-");
  std::string text;
  if (!flags.compare.empty()) {
    if (flags.compare.size() > report::compare::most_compared)
      throw core::InputError(fmt::format("--compare takes up to {} studies; name fewer",
                                         report::compare::most_compared));
    std::vector<report::compare::Side> sides;
    for (const std::string& study : flags.compare) sides.push_back(side_of(study, flags));
    text = sides.size() == 2
               ? comparison_text(report::compare::compare(sides[0], sides[1]), flags.form)
               : comparison_text(report::compare::compare(sides), flags.form);
    if (!flags.output && flags.form == Form::html) file = page_file(flags.url(), "comparison");
  } else {
    report::ShownStudy study = report::shown_study(stored_study(flags.url(), flags.study));
    if (flags.tensorboard) return write_tensorboard(flags, study, output);
    if (!flags.output && (flags.form == Form::html || flags.form == Form::unsaid))
      file = report_file(flags.url(), study.number);
    text = text_of(std::move(study), flags.form);
  }
  if (file == "-") return output.print(text), 0;
  report::write_file(file, text);
  output.print(fmt::format("{}\n", core::printable(file.string())));
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("report", "a study as an HTML report, or as text and data");
  const auto flags = std::make_shared<ReportFlags>();
  command->add_option("study", flags->study, "its number or name in `studies list` [the newest]")
      ->type_name("STUDY");
  CLI::Option_group* forms = command->add_option_group("form");
  forms->require_option(0, 1);
  const auto form = [&](const char* flag, Form value, const char* help) {
    forms->add_flag_callback(
        flag, [flags, value] { flags->form = value; }, help);
  };
  form("--html", Form::html, "one self-contained page (the default)");
  form("--markdown", Form::markdown, "sentence, table, reasons and command");
  form("--csv", Form::csv, "the trials, one per line");
  form("--json", Form::json, "the result as tune --json prints it");
  CLI::Option* tensorboard = forms
                                 ->add_option("--tensorboard", flags->tensorboard,
                                              "write event files for TensorBoard to this folder")
                                 ->type_name("DIR");
  command
      ->add_option("--compare", flags->compare,
                   "two studies or more side by side, each a number, a name or FILE:STUDY, "
                   "compared with the first; as a table unless a format is given")
      ->type_name("A B")
      ->expected(2, CLI::detail::expected_max_vector_size)  // the help says: A B ...
      ->excludes("study")
      ->excludes(tensorboard);
  command
      ->add_option("-o,--output", flags->output,
                   "the output file; - is stdout [a page: a file next to the store and named after "
                   "it; else stdout]")
      ->type_name("FILE");
  db_flag(*command, flags->db);
  command->footer(
      "\nExamples:\n"
      "  sweetspot report                    the newest study as a page\n"
      "  sweetspot report 3 --markdown       study 3 for a wiki or an issue\n"
      "  sweetspot report --csv -o trials.csv\n"
      "  sweetspot report --tensorboard runs  for: tensorboard --logdir runs\n"
      "  sweetspot report --compare 3 gpu.db:1\n"
      "  sweetspot report --compare before after later --html");
  command->callback(
      [&chosen, flags] { chosen = [flags](Output& output) { return report(*flags, output); }; });
}

}  // namespace sweetspot::cli
