#include "cluster/cluster_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "cluster/task_results.h"

namespace sweetspot::cluster {
namespace {

using trial::Outcome;

// A file may become visible some time after its task has ended, as on NFS: a minute, at this
// polling rate. A failed task usually leaves none.
constexpr int looks_after_success = 30, looks_after_failure = 2;

class Coordinator {
 public:
  Coordinator(const ClusterRun& run, std::span<const trial::Setting> settings,
              const std::function<void(const TaskTrial&)>& taken)
      : run_(run), settings_(settings), taken_(taken), open_(settings.size()) {}

  ClusterEnd go(const std::atomic<int>& stop) {
    ClusterEnd end;
    write_settings(run_.folder, settings_);
    std::vector<std::size_t> all(settings_.size());
    look_into_store();
    for (std::size_t i = 0; i < all.size(); ++i) forget_task(all[i] = i);
    if (!all.empty()) submit(all);
    while (unfinished() > 0) {
      look_into_store();
      for (const Task& task : look()) judge(task, end);
      if (!again_.empty()) submit(std::exchange(again_, {}));
      if (stop != 0) {
        cancel();
        end.stopped = true;
        break;
      }
      if (unfinished() > 0) wait(stop);
    }
    look_into_store();
    for (const std::size_t task : all) forget_task(task);
    return end;
  }

 private:
  struct Open {
    std::string job;
    int attempts = 0, silent_looks = 0;
    bool finished = false;
  };

  std::size_t unfinished() const {
    return static_cast<std::size_t>(std::ranges::count(open_, false, &Open::finished));
  }

  void submit(const std::vector<std::size_t>& tasks) {
    const std::string job = run_.scheduler.submit(tasks);
    for (const std::size_t task : tasks)
      open_[task].job = job, ++open_[task].attempts, open_[task].silent_looks = 0;
    run_.submitted(job, tasks.size());
  }

  // Every unfinished task once; one that the scheduler does not know counts as ended.
  std::vector<Task> look() {
    std::map<std::string, std::vector<Task>> jobs;
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].finished) continue;
      const auto [job, is_new] = jobs.try_emplace(open_[i].job);
      if (is_new) job->second = run_.scheduler.tasks(open_[i].job);
      const auto found = std::ranges::find(job->second, i, &Task::number);
      tasks.push_back(found != job->second.end() ? *found : Task{i, Task::State::done, {}, ""});
    }
    return tasks;
  }

  void judge(const Task& task, ClusterEnd& end) {
    if (auto study = left(task.number, Stage::finished); study && !study->trials.empty()) {
      trial::Trial trial = std::move(study->trials.front());
      trial.id = 0;  // of the task's own store
      return finish(task.number, {std::move(trial), std::move(study)});
    }
    if (task.state == Task::State::waiting || task.state == Task::State::running) return;
    Open& open = open_[task.number];
    if (task.state == Task::State::lost && open.attempts < run_.most_attempts)
      return repeat(task.number);
    const bool failed = task.state != Task::State::done;
    if (++open.silent_looks < (failed ? looks_after_failure : looks_after_success)) return;
    if (task.state == Task::State::failed && task.outcome == Outcome::crashed &&
        was_stopped(run_.folder, task.number))
      return judge({task.number, Task::State::lost, {}, "it was told to stop on its node"}, end);
    if (task.state == Task::State::failed && task.outcome == Outcome::cancelled) {
      open.finished = true;
      ++end.cancelled;
      return;
    }
    finish(task.number, failure_of(task));
  }

  void repeat(std::size_t task) {
    forget_task(task);
    again_.push_back(task);
  }

  TaskTrial failure_of(const Task& task) const {
    trial::Trial trial;
    trial.setting = settings_[task.number];
    switch (task.state) {
      case Task::State::failed:
        trial.outcome = task.outcome, trial.note = task.note;
        break;
      case Task::State::lost:
        trial.outcome = Outcome::killed;
        trial.note = fmt::format("{}, {} times", task.note, open_[task.number].attempts);
        break;
      default:
        trial.outcome = Outcome::crashed;
        trial.note = fmt::format("its job ended without a trial; see {}",
                                 (run_.folder / fmt::format("{}.log", task.number)).string());
    }
    return {std::move(trial), left(task.number, Stage::begun)};
  }

  void finish(std::size_t task, const TaskTrial& trial) {
    open_[task].finished = true;
    taken_(trial);
  }

  // A task that does not reach the store leaves files.
  std::optional<trial::Study> left(std::size_t task, Stage stage) const {
    if (run_.shared)
      if (auto study = study_left(*run_.shared, studies_, task_name(run_.folder, task)))
        return study;
    return study_left(run_.folder, task, stage);
  }
  void forget_task(std::size_t task) {
    if (run_.shared) forget(*run_.shared, studies_, task_name(run_.folder, task));
    forget(run_.folder, task);
  }
  void look_into_store() {
    if (!run_.shared) return;
    if (!follower_) follower_ = run_.shared->follow();
    if (follower_->changed()) studies_ = run_.shared->studies();
  }

  void cancel() {
    std::vector<std::string> jobs;
    for (const Open& open : open_)
      if (!open.finished && std::ranges::find(jobs, open.job) == jobs.end())
        jobs.push_back(open.job);
    for (const std::string& job : jobs) run_.scheduler.cancel(job);
  }

  void wait(const std::atomic<int>& stop) const {
    const auto end = std::chrono::steady_clock::now() + run_.look_every;
    while (stop == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::min<core::Seconds>(run_.look_every, core::Seconds(0.1)));
  }

  const ClusterRun& run_;
  std::span<const trial::Setting> settings_;
  const std::function<void(const TaskTrial&)>& taken_;
  std::vector<Open> open_;
  std::vector<std::size_t> again_;
  std::unique_ptr<store::Follower> follower_;
  std::vector<trial::Study> studies_;  // of the shared store
};

}  // namespace

ClusterEnd run_on_cluster(const ClusterRun& run, std::span<const trial::Setting> settings,
                          const std::function<void(const TaskTrial&)>& taken,
                          const std::atomic<int>& stop) {
  return Coordinator(run, settings, taken).go(stop);
}

}  // namespace sweetspot::cluster
