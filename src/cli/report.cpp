#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/report_file.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "report/forms.h"
#include "report/html.h"
#include "report/stored.h"
#include "store/store.h"

namespace sweetspot::cli {
namespace {

enum class Form { html, markdown, csv, json };

struct Flags {
  std::optional<std::string> db, output;
  std::optional<std::int64_t> study;
  Form form = Form::html;

  std::string url() const { return store::store_url(db); }
};

trial::Study study_of(const Flags& flags) {
  const std::unique_ptr<store::Store> store = store::open_store(flags.url());
  std::int64_t id = flags.study.value_or(0);
  if (!flags.study) {
    const std::vector<trial::Study> all = store->studies();
    if (all.empty())
      throw core::InputError(
          fmt::format("no study is in {} yet; sweetspot tune begins one, --db names another store",
                      core::printable(flags.url())));
    id = all.front().id;
  }
  if (std::optional<trial::Study> study = store->study(id)) return *std::move(study);
  throw core::InputError(fmt::format("there is no study {} in {}; see sweetspot studies list", id,
                                     core::printable(flags.url())));
}

std::string text_of(report::Answer answer, Form form) {
  switch (form) {
    case Form::html:
      return report::html(std::move(answer));
    case Form::markdown:
      return report::markdown(answer);
    case Form::csv:
      return report::csv(answer);
    case Form::json:
      return report::json(answer).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
             "\n";
  }
  return "";
}

int report(const Flags& flags, Output& output) {
  if (flags.output && *flags.output != "-") report::check_can_write(*flags.output, "--output");
  report::Answer answer = report::answer_of(study_of(flags));
  std::filesystem::path file = flags.output.value_or("-");
  if (!flags.output && flags.form == Form::html) file = report_file(flags.url(), answer.study);
  const std::string text = text_of(std::move(answer), flags.form);
  if (file == "-") return output.print(text), 0;
  report::write_file(file, text);
  output.print(fmt::format("{}\n", core::printable(file.string())));
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("report", "a study as a page to look at and send, or as text and data");
  const auto flags = std::make_shared<Flags>();
  text_flag(
      *command, "study", "STUDY", "its number in `studies list` [the newest]",
      [flags](const std::string& text) { flags->study = core::parse_whole(text, "the study", 1); });
  CLI::Option_group* forms = command->add_option_group("form");
  forms->require_option(0, 1);
  const auto form = [&](const char* flag, Form value, const char* help) {
    forms->add_flag_callback(
        flag, [flags, value] { flags->form = value; }, help);
  };
  form("--html", Form::html, "one self-contained page (what it does unless told otherwise)");
  form("--markdown", Form::markdown, "sentence, table, reasons and command");
  form("--csv", Form::csv, "the trials, one to a line");
  form("--json", Form::json, "the result as tune prints it with --json");
  command
      ->add_option("-o,--output", flags->output,
                   "where to; - is stdout [a page: sweetspot-study-N.html beside the store; "
                   "else stdout]")
      ->type_name("FILE");
  command
      ->add_option("--db", flags->db,
                   "the store of trials [SWEETSPOT_DB, else sqlite:sweetspot.db here]")
      ->type_name("URL");
  command->footer(
      "\nExamples:\n"
      "  sweetspot report                    the newest study as a page\n"
      "  sweetspot report 3 --markdown       study 3 for a wiki or an issue\n"
      "  sweetspot report --csv -o trials.csv");
  command->callback(
      [&chosen, flags] { chosen = [flags](Output& output) { return report(*flags, output); }; });
}

}  // namespace sweetspot::cli
