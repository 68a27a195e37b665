#include "cli/commands/cluster_job.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cluster/slurm/slurm.h"
#include "cluster/task_files.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "workload/one_at_a_time.h"

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

// Of the node, gone with the task.
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

// Until Slurm ends this job, where it says so, less what it takes to leave the result.
std::optional<core::Seconds> time_left() {
  const char* end = std::getenv("SLURM_JOB_END_TIME");
  if (!end) return std::nullopt;
  constexpr core::Seconds to_leave(15), least(1);
  const core::Seconds now = std::chrono::system_clock::now().time_since_epoch();
  const core::Seconds ends(static_cast<double>(core::parse_whole(end, "SLURM_JOB_END_TIME", 0)));
  return std::max(least, ends - now - to_leave);
}

std::string without_machine(const std::string& key) {
  nlohmann::json json = nlohmann::json::parse(key, nullptr, false);
  if (json.is_discarded() || !json.contains("terms")) return key;
  json["terms"].erase("machine");
  return json.dump();
}

}  // namespace

std::optional<trial::Study> newest_anywhere(const store::Store& store,
                                            const trial::Question& question) {
  for (const trial::Study& study : store.studies())
    if (without_machine(study.question.key) == without_machine(question.key)) return study;
  return std::nullopt;
}

std::string cluster_script(const ClusterFlags& flags, std::size_t tasks) {
  std::vector<std::size_t> numbers(tasks);
  for (std::size_t i = 0; i < tasks; ++i) numbers[i] = i;
  return cluster::slurm::job_script(
      slurm_options(flags, fs::current_path() / "sweetspot-slurm-XXXXXX"), numbers);
}

ClusterJob::ClusterJob(const ClusterFlags& flags)
    : folder_(new_folder(fs::current_path())),
      scheduler_(cluster::slurm::open(slurm_options(flags, folder_))) {}

ClusterJob::~ClusterJob() {
  std::error_code ignored;
  if (!keeps_folder_) fs::remove_all(folder_, ignored);
}

cluster::ClusterRun ClusterJob::run() const {
  cluster::ClusterRun run{*scheduler_, folder_};
  run.submitted = [](const std::string& job, std::size_t tasks) {
    Output::talk(fmt::format("Slurm job {}: {} task{}; squeue --jobs={} shows them", job, tasks,
                             tasks == 1 ? "" : "s", job));
  };
  return run;
}

int run_cluster_task(const ClusterTask& task, const StudyWorkload& opened,
                     const trial::Question& question, sweep::SweepOptions options, int epochs) {
  options.points = {cluster::read_setting(task.folder, task.number)};
  options.seeds.clear();
  options.repeat = 1;
  if (const auto left = time_left())
    options.loop.budget = std::min(*left, options.loop.budget.value_or(*left));
  const LocalFolder local;
  const fs::path file = local.path() / "task.db";
  const auto store = store::open_store(file.string());
  const trial::Environment environment = store_environment(opened);
  store->open_study(question, environment, false).reset();  // and closed: the file is whole
  cluster::leave_store(task.folder, task.number, cluster::Stage::begun, file);
  std::size_t trials = 0;
  {
    const auto writer = store->open_study(question, environment, false);
    LiveStudy live({"running " + opened.title, options.loop.measure.precision, 1, 0.05, true});
    const std::atomic<int>& stop = CountSignals::presses();
    if (opened.training) {
      trials = sweep::sweep(*opened.training, epochs, *writer, options, live, stop).trials.size();
    } else {
      // Rounds of several tasks would pass for the same ones.
      workload::OneAtATime alone(*opened.workload, true);
      trials = sweep::sweep(alone, *writer, options, live, stop).trials.size();
    }
  }
  if (opened.workload) opened.workload->finish();
  // Told to stop, and the program was told as well: what it came to is no trial. Who submitted it
  // learns from Slurm why.
  if (trials == 0 || CountSignals::presses() > 1) return partial_exit;
  cluster::leave_store(task.folder, task.number, cluster::Stage::finished, file);
  return 0;
}

}  // namespace sweetspot::cli
