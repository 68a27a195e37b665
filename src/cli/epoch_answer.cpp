#include "cli/epoch_answer.h"

#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "report/epochs.h"
#include "report/forms.h"

namespace sweetspot::cli {

void print_epochs(const StudyFlags& flags, const report::Answer& answer,
                  std::span<const std::int64_t> epochs, Output& output) {
  if (flags.native.json) {
    output.print_json(report::epoch_json(answer, epochs));
  } else {
    output.print(report::epoch_tables(answer.trials, epochs));
    const std::string sentence = report::epoch_sentence(answer.trials, epochs);
    if (!sentence.empty()) output.print("\n" + sentence + "\n");
  }
  if (flags.csv) report::write_file(*flags.csv, report::epoch_csv(answer.trials));
  if (flags.markdown) report::write_file(*flags.markdown, report::epoch_markdown(answer, epochs));
}

}  // namespace sweetspot::cli
