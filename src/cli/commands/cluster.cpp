#include "cli/commands/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cluster/slurm/slurm.h"
#include "cluster/task_results.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "store/store.h"

namespace sweetspot::cli {
namespace {

namespace fs = std::filesystem;

cluster::slurm::Options slurm_options(const ClusterFlags& flags, const fs::path& folder) {
  cluster::slurm::Options options;
  options.arguments = flags.sbatch;
  options.at_once = flags.at_once;
  options.exclusive = !flags.share_nodes;
  options.folder = folder;
  options.command = task_command(flags, folder);
  return options;
}

fs::path new_folder(const fs::path& where) {
  std::string name = (where / "sweetspot-slurm-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw core::InputError(fmt::format(
        "no folder for the job's files can be made in {}; run it where you may write, in "
        "a folder that all nodes see",
        core::printable(where.string())));
  return name;
}

// On the node, removed with the task.
class LocalFolder {
 public:
  LocalFolder() : path_(new_folder(fs::temp_directory_path())) {}
  ~LocalFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  LocalFolder(const LocalFolder&) = delete;
  LocalFolder& operator=(const LocalFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Until Slurm ends this job, if it says so, minus the time to leave the result.
std::optional<core::Seconds> time_left() {
  const char* end = std::getenv("SLURM_JOB_END_TIME");
  if (!end) return std::nullopt;
  constexpr core::Seconds to_leave(15), least(1);
  const core::Seconds now = std::chrono::system_clock::now().time_since_epoch();
  const core::Seconds ends(static_cast<double>(core::parse_whole(end, "SLURM_JOB_END_TIME", 0)));
  return std::max(least, ends - now - to_leave);
}

bool is_on_server(const StudyFlags& flags) {
  return store::is_postgres(store::store_url(flags.db));
}

// What a task leaves for the submitter, from its own store: in the store on the server, or in a
// file, also if the server cannot be reached from here.
class Handover {
 public:
  Handover(const ClusterTask& task, const StudyFlags& flags)
      : task_(task), url_(is_on_server(flags) ? store::store_url(flags.db) : "") {}

  void leave(cluster::Stage stage, const store::Store& own, const fs::path& file) {
    if (!url_.empty() && leave_on_server(own)) return;
    cluster::leave_store(task_.folder, task_.number, stage, file);
  }

 private:
  bool leave_on_server(const store::Store& own) {
    try {
      cluster::leave_study(*store::open_store(url_), cluster::task_name(task_.folder, task_.number),
                           own.study(1).value());
      return true;
    } catch (const core::Error& error) {
      Output::talk(fmt::format("the trial goes through a file: {}", error.what()));
      url_.clear();
      return false;
    }
  }

  const ClusterTask task_;
  std::string url_;  // empty: through files
};

std::string without_machine(const std::string& key) {
  nlohmann::json json = nlohmann::json::parse(key, nullptr, false);
  if (json.is_discarded() || !json.contains("terms")) return key;
  for (const char* part : {"terms", "workload"})
    if (json[part].is_object()) json[part].erase("machine");
  return json.dump();
}

}  // namespace

std::optional<trial::Study> newest_anywhere(const store::Store& store,
                                            const trial::StudyKey& study_key) {
  for (const trial::Study& study : store.studies())
    if (without_machine(study.study_key.json) == without_machine(study_key.json)) return study;
  return std::nullopt;
}

std::string cluster_script(const ClusterFlags& flags, std::size_t tasks) {
  std::vector<std::size_t> numbers(tasks);
  for (std::size_t i = 0; i < tasks; ++i) numbers[i] = i;
  return cluster::slurm::job_script(
      slurm_options(flags, fs::current_path() / "sweetspot-slurm-XXXXXX"), numbers);
}

ClusterJob::ClusterJob(const ClusterFlags& flags, const StudyFlags& study)
    : folder_(new_folder(fs::current_path())),
      scheduler_(cluster::slurm::open(slurm_options(flags, folder_))),
      store_is_shared_(is_on_server(study)) {}

ClusterJob::~ClusterJob() {
  std::error_code ignored;
  if (!keeps_folder_) fs::remove_all(folder_, ignored);
}

cluster::ClusterRun ClusterJob::run(store::Store& store) const {
  cluster::ClusterRun run{*scheduler_, folder_};
  if (store_is_shared_) run.shared = &store;
  run.submitted = [](const std::string& job, std::size_t tasks) {
    Output::talk(fmt::format("Slurm job {}: {} task{}; squeue --jobs={} shows them", job, tasks,
                             tasks == 1 ? "" : "s", job));
  };
  return run;
}

int run_cluster_task(const ClusterTask& task, const StudyFlags& flags, const StudyWorkload& opened,
                     const trial::StudyKey& study_key, sweep::SweepOptions options, int epochs) {
  options.points = {cluster::read_setting(task.folder, task.number)};
  options.seeds.clear();
  options.repeat = 1;
  if (const auto left = time_left())
    options.loop.budget = std::min(*left, options.loop.budget.value_or(*left));
  cluster::leave_stopped(task.folder, task.number, false);  // requeued, it begins anew
  const LocalFolder local;
  const fs::path file = local.path() / "task.db";
  const auto store = store::open_store(file.string());
  const trial::Environment environment = store_environment(opened);
  store->open_study(study_key, environment, false).reset();  // and closed: the file is complete
  Handover handover(task, flags);
  handover.leave(cluster::Stage::begun, *store, file);
  std::size_t trials = 0;
  {
    const auto writer = store->open_study(study_key, environment, false);
    LiveStudy live({"running " + opened.title, options.loop.measure.precision, 1, 0.05, true});
    const std::atomic<int>& stop = CountSignals::presses();
    if (opened.training) {
      trials = sweep::sweep(*opened.training, epochs, *writer, options, live, stop).trials.size();
    } else {
      // Rounds of several tasks would look like the same ones.
      options.loop.run_elsewhere = [&](const auto&... asked) {
        return measure::measure(*opened.workload, asked...);
      };
      trials = sweep::sweep(*opened.workload, *writer, options, live, stop).trials.size();
    }
  }
  if (opened.workload) opened.workload->finish()({CountSignals::presses()});
  // A stop was requested, for the program too: its result is not a trial. The submitter learns the
  // reason from Slurm.
  const bool stopped = CountSignals::presses() > 1;
  cluster::leave_stopped(task.folder, task.number, stopped);
  if (trials == 0 || stopped) return partial_exit;
  handover.leave(cluster::Stage::finished, *store, file);
  return 0;
}

namespace {

std::vector<trial::Setting> settings_in(const std::optional<trial::Study>& study) {
  std::vector<trial::Setting> settings;
  if (study)
    for (const trial::Trial& trial : study->trials) settings.push_back(trial.setting);
  return settings;
}

// One study per kind of machine, opened with its first trial.
class Studies {
 public:
  Studies(store::Store& store, const trial::StudyKey& study_key,
          const trial::Environment& environment, bool fresh)
      : store_(store), study_key_(study_key), environment_(environment), fresh_(fresh) {}

  void keep(const cluster::TaskTrial& taken) {
    trial::Trial trial = taken.trial;
    writer_of(taken).save({&trial, 1});
  }

  std::size_t kinds() const { return writers_.size(); }

  // The one with the most trials, closed, so that it can be read and reopened.
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
  // A task that never began says nothing about its machine: it is counted with the others.
  store::Writer& writer_of(const cluster::TaskTrial& taken) {
    if (!taken.study && !writers_.empty()) return *writers_.begin()->second;
    const trial::StudyKey& study_key = taken.study ? taken.study->study_key : study_key_;
    auto& writer = writers_[study_key.json];
    if (!writer)
      writer = store_.open_study(study_key, taken.study ? taken.study->environment : environment_,
                                 fresh_);
    return *writer;
  }

  store::Store& store_;
  trial::StudyKey study_key_;
  trial::Environment environment_;
  bool fresh_;
  std::map<std::string, std::unique_ptr<store::Writer>> writers_;
};

}  // namespace

ClusterSweep sweep_on_cluster(const ClusterFlags& cluster, const StudyFlags& flags,
                              const StudyWorkload& opened, const trial::StudyKey& study_key,
                              const sweep::SweepOptions& options, store::Store& store,
                              const Conclude& conclude) {
  const std::vector<trial::Setting> all = sweep::settings_of(options);
  const std::optional<trial::Study> before =
      flags.fresh ? std::nullopt : newest_anywhere(store, study_key);
  const std::vector<trial::Setting> missing = store::missing(all, settings_in(before));
  Studies studies(store, study_key, store_environment(opened), flags.fresh);
  ClusterJob job(cluster, flags);
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
      cluster::run_on_cluster(job.run(store), missing, take, CountSignals::presses());
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
  study::Result& result = found.result;
  if (found.study) result.trials = std::exchange(found.study->trials, {});
  std::vector<trial::Setting> measured;
  for (const trial::Trial& trial : result.trials) measured.push_back(trial.setting);
  if (found.study && store::missing(all, measured).empty())
    result = conclude(*store.open_study(found.study->study_key, found.study->environment, false));
  result.resumed = all.size() - missing.size();
  result.spent = study::steady_now() - started;
  const bool cut_short = end.stopped || end.cancelled > 0;
  if (cut_short || result.answer.end == trial::End::running)
    result.answer = sweep::answered(
        {cut_short ? std::optional(trial::End::stopped) : std::nullopt, "", {}, all.size()},
        result.trials);
  return found;
}

cluster::TaskTrial ClusterTune::run_task(const trial::Setting& setting,
                                         const std::atomic<int>& stop) {
  cluster::TaskTrial found;
  found.trial.setting = setting;
  found.trial.outcome = trial::Outcome::cancelled;
  found.trial.note = "its job was cancelled";
  cluster::run_on_cluster(
      job_.run(store_), {&setting, 1}, [&](const cluster::TaskTrial& taken) { found = taken; },
      stop);
  if (found.trial.outcome == trial::Outcome::crashed) job_.keep_folder();
  return found;
}

std::unique_ptr<store::Writer> ClusterTune::open(const trial::StudyKey& study_key,
                                                 const trial::Setting& first, bool fresh) {
  std::optional<trial::Study> study = fresh ? std::nullopt : newest_anywhere(store_, study_key);
  if (!study) {
    cluster::TaskTrial seen = run_task(first, CountSignals::presses());
    study = std::move(seen.study);
    if (!study)
      study.emplace(), study->study_key = study_key,
                       study->environment = store_environment(opened_);
    const auto writer = store_.open_study(study->study_key, study->environment, fresh);
    if (seen.trial.outcome != trial::Outcome::cancelled) writer->save({&seen.trial, 1});
  }
  key_ = study->study_key.json;
  return store_.open_study(study->study_key, study->environment, false);
}

trial::Trial ClusterTune::run(const trial::Setting& setting, const std::atomic<int>& stop) {
  const cluster::TaskTrial found = run_task(setting, stop);
  if (found.study && found.study->study_key.json != key_)
    throw core::DeviceLost(fmt::format(
        "batch {} ran on another kind of machine than those before ({}); name one kind with "
        "--sbatch=--constraint=NAME",
        setting.batch, core::printable(found.study->environment.machine)));
  return found.trial;
}

}  // namespace sweetspot::cli
