#include "cli/study_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/terminal.h"
#include "core/text.h"
#include "report/forms.h"
#include "report/glance.h"
#include "report/plot.h"

namespace sweetspot::cli {
namespace {

constexpr std::size_t widest_plot = 76, plot_height = 13;

std::string text_of(const report::Answer& answer) {
  std::string text;
  if (!answer.trials.empty()) text += report::table(answer) + "\n";
  const auto found = report::measured(answer);
  report::PlotOptions options;
  options.width = std::min(terminal_width() - 1, widest_plot);
  options.height = plot_height;
  options.utf8 = is_utf8_locale();
  if (answer.recommendation)
    options.chosen = answer.recommendation->setting.batch;
  else if (found)
    options.chosen = found->knee_batch;
  const std::string plot = report::plot(answer.trials, options);
  if (!plot.empty()) text += "samples/s by batch\n" + plot + "\n";
  if (const std::string words = report::sentence(answer); !words.empty()) text += words + "\n";
  if (!answer.recommendation) return text;
  for (const std::string& reason : answer.recommendation->reasons) text += "- " + reason + "\n";
  if (!answer.command.empty()) text += "\n  " + answer.command + "\n";
  return text;
}

}  // namespace

void print_answer(const StudyFlags& flags, const report::Answer& answer, Output& output) {
  if (flags.native.json)
    output.print_json(report::json(answer));
  else
    output.print(text_of(answer));
  write_exports(flags, answer);
}

}  // namespace sweetspot::cli
