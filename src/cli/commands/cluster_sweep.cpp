#include "cli/commands/cluster_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/commands/cluster_job.h"
#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "core/text.h"
#include "store/queue.h"

namespace sweetspot::cli {
namespace {

std::vector<trial::Setting> settings_in(const std::optional<trial::Study>& study) {
  std::vector<trial::Setting> settings;
  if (study)
    for (const trial::Trial& trial : study->trials) settings.push_back(trial.setting);
  return settings;
}

// A study for each kind of machine, opened when the first of its trials comes.
class Studies {
 public:
  Studies(store::Store& store, const trial::Question& question,
          const trial::Environment& environment, bool fresh)
      : store_(store), question_(question), environment_(environment), fresh_(fresh) {}

  void keep(const cluster::TaskTrial& taken) {
    trial::Trial trial = taken.trial;
    writer_of(taken).save({&trial, 1});
  }

  std::size_t kinds() const { return writers_.size(); }

  // The one with the most trials, closed, so that it can be read and opened anew.
  std::optional<trial::Study> largest() {
    std::vector<std::int64_t> ids;
    for (const auto& [key, writer] : writers_) ids.push_back(writer->study().id);
    writers_.clear();
    std::optional<trial::Study> found;
    for (const std::int64_t id : ids)
      if (auto study = store_.study(id);
          study && (!found || study->trials.size() > found->trials.size()))
        found = std::move(study);
    return found;
  }

  std::string machines() const {
    std::string text;
    for (const auto& [key, writer] : writers_)
      text += fmt::format("{}study {} on {}", text.empty() ? "" : ", ", writer->study().id,
                          core::printable(writer->study().environment.machine));
    return text;
  }

 private:
  // A task that never began tells nothing of its machine: it is counted with the others.
  store::Writer& writer_of(const cluster::TaskTrial& taken) {
    if (!taken.study && !writers_.empty()) return *writers_.begin()->second;
    const trial::Question& question = taken.study ? taken.study->question : question_;
    auto& writer = writers_[question.key];
    if (!writer)
      writer = store_.open_study(question, taken.study ? taken.study->environment : environment_,
                                 fresh_);
    return *writer;
  }

  store::Store& store_;
  trial::Question question_;
  trial::Environment environment_;
  bool fresh_;
  std::map<std::string, std::unique_ptr<store::Writer>> writers_;
};

}  // namespace

ClusterSweep sweep_on_cluster(const ClusterFlags& cluster, const StudyFlags& flags,
                              const StudyWorkload& opened, const trial::Question& question,
                              const sweep::SweepOptions& options, store::Store& store,
                              const Conclude& conclude) {
  const std::vector<trial::Setting> all = sweep::settings_of(options);
  const std::optional<trial::Study> before =
      flags.fresh ? std::nullopt : newest_anywhere(store, question);
  const std::vector<trial::Setting> missing = store::missing(all, settings_in(before));
  Studies studies(store, question, store_environment(opened), flags.fresh);
  ClusterJob job(cluster);
  std::size_t taken_in = 0;
  const core::Seconds started = study::steady_now();
  LiveStudy live(
      {"sweeping " + opened.title, flags.precision, all.size(), flags.tolerance, flags.verbose});
  const auto take = [&](const cluster::TaskTrial& taken) {
    studies.keep(taken);
    ++taken_in;
    if (taken.trial.outcome == trial::Outcome::crashed) job.keep_folder();
    live.finished(taken.trial);
  };
  const cluster::ClusterEnd end =
      cluster::run_on_cluster(job.run(), missing, take, CountSignals::presses());
  live.clear();
  ClusterSweep found;
  if (studies.kinds() > 1)
    found.note = fmt::format(
        "the nodes were of {} kinds, which are not compared: {}; name one with "
        "--sbatch=--constraint=NAME",
        studies.kinds(), studies.machines());
  if (end.cancelled > 0)
    found.note += fmt::format("{}{} task{} cancelled by others", found.note.empty() ? "" : "; ",
                              end.cancelled, end.cancelled == 1 ? " was" : "s were");
  found.study = studies.largest();
  if (!found.study) found.study = before;
  sweep::SweepResult& result = found.result;
  if (found.study) result.trials = std::exchange(found.study->trials, {});
  std::vector<trial::Setting> measured;
  for (const trial::Trial& trial : result.trials) measured.push_back(trial.setting);
  if (found.study && store::missing(all, measured).empty())
    result = conclude(*store.open_study(found.study->question, found.study->environment, false));
  result.resumed = all.size() - missing.size();
  result.planned = all.size();
  result.spent = study::steady_now() - started;
  if (end.stopped || end.cancelled > 0) result.end = study::End::stopped;
  return found;
}

}  // namespace sweetspot::cli
