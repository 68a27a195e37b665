#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/flags/flags.h"
#include "cli/live/terminal.h"
#include "cli/output.h"
#include "cli/stored_study.h"
#include "core/error.h"
#include "core/json_values.h"
#include "core/number.h"
#include "core/text.h"
#include "report/formats.h"
#include "report/shown_study.h"
#include "report/speeds.h"
#include "report/study_summary.h"
#include "report/table.h"
#include "report/text/failures.h"
#include "report/text/summary.h"
#include "store/store.h"

namespace sweetspot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct StudiesFlags {
  std::optional<std::string> db;
  std::string study;                  // its number or name
  std::optional<std::int64_t> trial;  // its trial, in the order in which they were run
  bool json = false;

  std::string url() const { return store::store_url(db); }
};

std::string local_time(double unix_seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(unix_seconds)));
}

// The beginning of every format of a study.
Json json_of(const trial::Study& study) {
  const report::ShownStudy shown = report::shown_study(study);
  const std::optional<report::Measured> found = report::measured(shown);
  const advise::Recommendation* made = shown.recommendation();
  const report::StudySummary asked = report::study_summary(study.study_key);
  const auto said = [](const std::string& text) { return core::unless_empty(text); };
  return {{"study", std::to_string(study.id)},
          {"name", said(asked.name)},
          {"workload", study.study_key.workload},
          {"goal", said(asked.goal)},
          {"limit", said(asked.limit)},
          {"state", state_name(study.end)},
          {"trial_count", study.trials.size()},
          {"started_at_unix_seconds", study.started_at},
          {"answer", made ? Json{{"batch", made->setting.batch},
                                 {"samples_per_second", made->samples_per_second}}
                          : Json(nullptr)},
          {"best", found ? Json{{"batch", found->best_batch},
                                {"samples_per_second", found->best_samples_per_second}}
                         : Json(nullptr)}};
}

// Our own text from the store, which is JSON unless it is foreign.
Json parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(text) : json;
}

int list_studies(const StudiesFlags& flags, Output& output) {
  const std::vector<trial::Study> studies = store::open_store(flags.url())->studies();
  if (flags.json) {
    Json json = result_object();
    json["db"] = flags.url();
    json["studies"] = Json::array();
    for (const trial::Study& study : studies) json["studies"].push_back(json_of(study));
    output.print_json(json);
    return 0;
  }
  if (studies.empty()) {
    Output::talk(fmt::format("no study is in {} yet; sweetspot tune begins one",
                             core::printable(flags.url())));
    return 0;
  }
  // On a narrow terminal the last optional column is dropped first.
  std::vector<report::Column> columns{{"study"},
                                      {"name", true, 0, true},
                                      {"goal", true, 0, true},
                                      {"workload", true},
                                      {"limit", true},
                                      {"state", true, 0, true},
                                      {"trials", false, 0, true},
                                      {"started", true, 0, true},
                                      {"answer"},
                                      {"fastest measured", false, 0, true},
                                      {"samples/s", false, 0, true}};
  const bool has_names = std::ranges::any_of(studies, [](const trial::Study& study) {
    return !report::study_summary(study.study_key).name.empty();
  });
  if (!has_names) columns.erase(columns.begin() + 1);
  report::Table table(columns);
  const std::string dash(report::unknown);
  const auto batch = [](std::int64_t size) {
    return core::format_count(static_cast<double>(size));
  };
  for (const trial::Study& study : studies) {
    const report::ShownStudy shown = report::shown_study(study);
    const auto found = report::measured(shown);
    std::optional<std::int64_t> chosen;
    if (shown.recommendation()) chosen = shown.recommendation()->setting.batch;
    if (shown.to_target()) chosen = shown.to_target()->batch;
    const report::StudySummary asked = report::study_summary(study.study_key);
    const auto said = [&](const std::string& text) {
      return text.empty() ? dash : core::printable(text);
    };
    std::vector<std::string> cells{
        std::to_string(study.id),
        said(asked.name),
        said(asked.goal),
        said(asked.what),
        said(asked.limit),
        std::string(state_name(study.end)),
        std::to_string(study.trials.size()),
        local_time(study.started_at),
        chosen ? batch(*chosen) : dash,
        found ? batch(found->best_batch) : dash,
        found ? core::format_count(found->best_samples_per_second) : dash};
    if (!has_names) cells.erase(cells.begin() + 1);
    table.add(std::move(cells));
  }
  table.fit(most_width());
  output.print(table.text());
  return 0;
}

[[noreturn]] void fail_unknown(std::int64_t study, const StudiesFlags& flags) {
  throw core::InputError(fmt::format("there is no study {} in {}; see sweetspot studies list",
                                     study, core::printable(flags.url())));
}

int show_trial(const StudiesFlags& flags, const trial::Study& study, Output& output) {
  const report::ShownStudy shown = report::shown_study(study);
  const std::vector<report::Row> rows = report::rows(shown);
  const auto found = std::ranges::find(rows, *flags.trial, &report::Row::number);
  if (found == rows.end())
    throw core::InputError(fmt::format("study {} has no trial {}; it has {}", study.id,
                                       *flags.trial, study.trials.size()));
  if (!flags.json) return output.print(report::trial_text(*found)), 0;
  Json json = result_object();
  json["schema_version"] = report::schema_version;
  json["study"] = std::to_string(study.id);
  json["trial"] = report::json(*found);
  output.print_json(json);
  return 0;
}

// For a study that several processes share: the active and the lost ones.
std::string attempts_text(const std::vector<store::Attempt>& attempts) {
  std::string text;
  for (const store::Attempt& attempt : attempts) {
    const bool runs = attempt.ending == store::Attempt::Ending::running;
    if (!runs && attempt.ending != store::Attempt::Ending::lost) continue;
    text += fmt::format("batch {}: {} on {} (pid {}), last heard of after {} and {} steps\n",
                        core::format_count(static_cast<double>(attempt.setting.batch)),
                        runs ? "running" : "lost", core::printable(attempt.host), attempt.pid,
                        core::format_duration(core::Seconds(attempt.seconds)), attempt.steps);
  }
  return text.empty() ? "" : "\n" + text;
}

int show_study(const StudiesFlags& flags, Output& output) {
  const std::unique_ptr<store::Store> store = store::open_store(flags.url());
  const std::int64_t id = number_of_study(*store, flags.url(), flags.study);
  const auto study = store->study(id);
  if (!study) fail_unknown(id, flags);
  if (flags.trial) return show_trial(flags, *study, output);
  if (flags.json) {
    Json json = result_object();
    json["schema_version"] = report::schema_version;  // of its trials
    json.update(json_of(*study));
    json["question"] = parsed(study->study_key.json);
    json["trials"] = report::json(report::shown_study(*study))["trials"];
    json["environment"] = parsed(study->environment.json);
    output.print_json(json);
    return 0;
  }
  output.print(wrapped_lines(fmt::format(
      "study {} · {} · {} · {} trial{} · begun {}", study->id,
      core::printable(study->study_key.workload), state_name(study->end), study->trials.size(),
      study->trials.size() == 1 ? "" : "s", local_time(study->started_at))));
  output.print(wrapped_lines(fmt::format("{} · {}", core::printable(study->environment.program),
                                         core::printable(study->environment.machine))));
  if (study->running)
    output.print(fmt::format("measuring batch {} since {}\n",
                             core::format_count(static_cast<double>(study->running->batch)),
                             local_time(study->running->started_at)));
  output.print(attempts_text(store->attempts(study->id)));
  if (study->trials.empty()) return 0;
  const report::ShownStudy shown = report::shown_study(*study);
  output.print("\n" + report::trials_table(shown, most_width()));
  constexpr std::size_t most_failures = 3, most_lines = 10;
  output.print(report::failures_text(report::failures(shown, most_failures, most_lines)));
  if (shown.doubt()) output.print("\n" + wrapped_lines(core::printable(shown.answer.message)));
  if (const std::string words = report::sentence(shown); !words.empty())
    output.print("\n" + wrapped_lines(words));
  return 0;
}

int remove_study(const StudiesFlags& flags, Output& output) {
  const std::unique_ptr<store::Store> store = store::open_store(flags.url());
  const std::int64_t id = number_of_study(*store, flags.url(), flags.study);
  if (!store->remove(id)) fail_unknown(id, flags);
  if (!flags.json) return output.print(fmt::format("study {} deleted\n", id)), 0;
  Json json = result_object();
  json["study"] = std::to_string(id);
  json["status"] = "deleted";
  output.print_json(json);
  return 0;
}

}  // namespace

void add_studies(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("studies", "stored studies: list, show, delete");
  command->require_subcommand(1);
  command->footer(
      "\nExamples:\n"
      "  sweetspot studies list\n"
      "  sweetspot studies show 3            its trials and its answer\n"
      "  sweetspot studies show 3 2          all of its second trial\n"
      "  sweetspot studies delete 3");
  const auto flags = std::make_shared<StudiesFlags>();
  const auto add = [&](const char* name, const char* help, auto action) {
    CLI::App* sub = command->add_subcommand(name, help);
    db_flag(*sub, flags->db);
    sub->add_flag("--json", flags->json, "the result as one JSON object on stdout");
    sub->callback([&chosen, flags, action] {
      chosen = [flags, action](Output& output) { return action(*flags, output); };
    });
    return sub;
  };
  const auto take_number = [&](CLI::App* sub) {
    sub->add_option("study", flags->study, "its number or name, as in the list")
        ->type_name("STUDY")
        ->required();
  };
  add("list",
      "every study: its goal, workload and limit, its state, its answer and the fastest measured "
      "batch",
      list_studies);
  CLI::App* show = add("show", "one study with its trials, or all of one trial", show_study);
  take_number(show);
  text_flag(
      *show, "trial", "TRIAL", "the number of one of its trials",
      [flags](const std::string& text) { flags->trial = core::parse_whole(text, "the trial", 1); });
  take_number(add("delete", "forget a study and its trials", remove_study));
}

}  // namespace sweetspot::cli
