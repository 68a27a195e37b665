#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "report/exports/tensorboard/hparams.h"
#include "report/exports/tensorboard/tensorboard.h"
#include "report/forms.h"

namespace sweetspot::report::tensorboard {
namespace {

namespace fs = std::filesystem;

// TensorBoard finds "tfevents" in the name, and reads the files of a run by their seconds in it.
std::string file_name(double at_unix_seconds) {
  const double seconds = std::isfinite(at_unix_seconds) ? std::clamp(at_unix_seconds, 0.0, 9e9) : 0;
  return fmt::format("events.out.tfevents.{:010.0f}.sweetspot", std::floor(seconds));
}

void write_run(const fs::path& folder, double at_unix_seconds, const std::string& bytes) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    throw core::MachineError(
        fmt::format("the folder {} cannot be made: {}; name another one with "
                    "--tensorboard",
                    core::printable(folder.string()), failed.message()));
  write_file(folder / file_name(at_unix_seconds), bytes);
}

std::string run_name(const trial::Trial& trial, std::size_t place) {
  const std::int64_t number = trial.id > 0 ? trial.id : static_cast<std::int64_t>(place) + 1;
  return fmt::format("batch-{}-trial-{}", trial.setting.batch, number);
}

}  // namespace

std::size_t write(const fs::path& folder, const Answer& answer) {
  if (answer.trials.empty()) return 0;
  // A study's number is text, and might be anybody's.
  std::string number = answer.study;
  std::erase_if(number, [](char c) { return c < '0' || c > '9'; });
  const fs::path study = folder / fmt::format("study-{}", number);
  const double begun_at = answer.trials.front().started_at;
  Events experiment(begun_at);
  add_experiment(experiment, answer, begun_at);
  write_run(study, begun_at, experiment.bytes());
  for (std::size_t i = 0; i < answer.trials.size(); ++i) {
    const trial::Trial& trial = answer.trials[i];
    write_run(study / run_name(trial, i), trial.started_at, trial_events(trial));
  }
  return answer.trials.size();
}

}  // namespace sweetspot::report::tensorboard
