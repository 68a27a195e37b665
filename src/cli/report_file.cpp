#include "cli/report_file.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "core/error.h"
#include "core/text.h"
#include "report/forms.h"
#include "report/html/html.h"
#include "store/store.h"

namespace sweetspot::cli {
namespace {

// A run keeps summaries of the trials that it resumed: the rest of them is in the store.
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
