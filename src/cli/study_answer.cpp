#include "cli/study_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/live/terminal.h"
#include "cli/output.h"
#include "core/text.h"
#include "report/charts/plot.h"
#include "report/forms.h"
#include "report/text/rank_plan.h"
#include "report/text/screen.h"

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

// A surer answer takes several times as long, and is asked for by name: more rounds, or of a
// program more passes, for which a budget that was given has to last.
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

}  // namespace sweetspot::cli
