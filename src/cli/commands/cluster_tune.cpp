#include "cli/commands/cluster_tune.h"

#include <fmt/format.h>

#include "cli/signals.h"
#include "core/error.h"
#include "core/text.h"

namespace sweetspot::cli {

cluster::TaskTrial ClusterTune::run_task(const trial::Setting& setting,
                                         const std::atomic<int>& stop) {
  cluster::TaskTrial found;
  found.trial.setting = setting;
  found.trial.outcome = trial::Outcome::cancelled;
  found.trial.note = "its job was cancelled";
  cluster::run_on_cluster(
      job_.run(), {&setting, 1}, [&](const cluster::TaskTrial& taken) { found = taken; }, stop);
  if (found.trial.outcome == trial::Outcome::crashed) job_.keep_folder();
  return found;
}

std::unique_ptr<store::Writer> ClusterTune::open(store::Store& store,
                                                 const trial::Question& question,
                                                 const trial::Setting& first, bool fresh) {
  std::optional<trial::Study> study = fresh ? std::nullopt : newest_anywhere(store, question);
  if (!study) {
    cluster::TaskTrial seen = run_task(first, CountSignals::presses());
    study = std::move(seen.study);
    if (!study)
      study.emplace(), study->question = question, study->environment = store_environment(opened_);
    const auto writer = store.open_study(study->question, study->environment, fresh);
    if (seen.trial.outcome != trial::Outcome::cancelled) writer->save({&seen.trial, 1});
  }
  key_ = study->question.key;
  return store.open_study(study->question, study->environment, false);
}

trial::Trial ClusterTune::run(const trial::Setting& setting, const std::atomic<int>& stop) {
  const cluster::TaskTrial found = run_task(setting, stop);
  if (found.study && found.study->question.key != key_)
    throw core::DeviceLost(fmt::format(
        "batch {} ran on another kind of machine than those before ({}); name one kind with "
        "--sbatch=--constraint=NAME",
        setting.batch, core::printable(found.study->environment.machine)));
  return found.trial;
}

}  // namespace sweetspot::cli
