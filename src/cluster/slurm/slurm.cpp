#include "cluster/slurm/slurm.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "core/error.h"
#include "core/shell.h"
#include "core/text.h"

namespace sweetspot::cluster::slurm {
namespace {

struct Said {
  std::string text;
  bool worked = false;
};

Said run(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += core::shell_word(word) + " ";
  FILE* pipe = ::popen((line + "2>&1").c_str(), "r");
  if (!pipe) return {};
  Said said;
  std::array<char, 4096> bytes;
  for (std::size_t count; (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    said.text.append(bytes.data(), count);
  said.worked = ::pclose(pipe) == 0;
  return said;
}

std::string first_line(const std::string& text) {
  return core::printable(text.substr(0, text.find('\n')));
}

bool is_job(std::string_view id) {
  return !id.empty() && id.find_first_not_of("0123456789") == std::string_view::npos;
}

// From "1234" or, with several clusters, "1234;cluster": the last line, after warnings.
std::string job_id(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "";
  const std::string last = text.substr(text.rfind('\n', end) + 1);
  return last.substr(0, last.find_first_of("; \r\n"));
}

class SlurmScheduler : public Scheduler {
 public:
  explicit SlurmScheduler(Options options) : options_(std::move(options)) {}

  std::string submit(std::span<const std::size_t> tasks) override {
    const std::filesystem::path script = options_.folder / "job.sh";
    std::ofstream(script) << job_script(options_, tasks);
    const Said said = run({"sbatch", "--parsable", script.string()});
    const std::string id = job_id(said.text);
    if (!said.worked || !is_job(id))
      throw core::InputError(fmt::format(
          "Slurm did not take the job ({}); see sbatch --help for what can be passed on, "
          "and sinfo for "
          "what there is",
          first_line(said.text)));
    submitted_[id].assign(tasks.begin(), tasks.end());
    return id;
  }

  std::vector<Task> tasks(const std::string& job) override {
    const Said said = run({"squeue", "--array", "--noheader", "--states=all", "--jobs=" + job,
                           "--format=%K|%T|%r|%N"});
    if (said.worked) {
      std::vector<Task> found = parse_tasks(said.text, submitted_[job], options_.folder);
      if (!found.empty()) return found;
    }
    // Slurm forgets jobs some minutes after their end; its accounting does not, if enabled.
    const Said accounts = run({"sacct", "--noheader", "--parsable2", "--allocations",
                               "--jobs=" + job, "--format=JobID,State,ExitCode,NodeList"});
    if (accounts.worked) return parse_tasks(accounts.text, submitted_[job], options_.folder);
    throw core::MachineError(
        fmt::format("Slurm tells nothing of job {} ({}); see that squeue works here, and run the "
                    "same command again",
                    job, first_line(said.text)));
  }

  void cancel(const std::string& job) override { run({"scancel", job}); }

 private:
  Options options_;
  std::map<std::string, std::vector<std::size_t>> submitted_;  // by job
};

using State = Task::State;
using trial::Outcome;

constexpr std::string_view waiting[] = {"PENDING",   "CONFIGURING",  "REQUEUED", "REQUEUE_FED",
                                        "SUSPENDED", "REQUEUE_HOLD", "STOPPED",  "SPECIAL_EXIT"};
constexpr std::string_view running[] = {"RUNNING", "COMPLETING", "RESIZING", "SIGNALING",
                                        "STAGE_OUT"};
constexpr std::string_view lost[] = {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED"};

bool is_one_of(std::string_view word, auto& words) {
  return std::ranges::find(words, word) != std::end(words);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, '|');) cells.push_back(cell);
  return cells;
}

// The wording of slurmstepd, for cgroups and for its own monitoring.
bool log_tells_of_memory(const std::filesystem::path& log) {
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line.find("slurmstepd") != std::string::npos &&
        (line.find("oom-kill") != std::string::npos || line.find("oom_kill") != std::string::npos ||
         line.find("Exceeded job memory limit") != std::string::npos))
      return true;
  return false;
}

// The last line of a program that said something before it failed.
std::string last_line(const std::filesystem::path& log) {
  std::ifstream lines(log);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!core::trimmed(line).empty()) last = line;
  constexpr std::size_t longest = 300;
  return core::printable(last.substr(0, longest));
}

void judge(Task& task, const std::string& slurm_state, const std::string& node,
           const std::filesystem::path& folder) {
  const std::string state = slurm_state.substr(0, slurm_state.find(' '));  // "CANCELLED by 1000"
  const std::string where = node.empty() ? "" : " on " + core::printable(node);
  const std::filesystem::path log = folder / fmt::format("{}.log", task.number);
  if (is_one_of(state, waiting)) {
    task.state = State::waiting;
  } else if (is_one_of(state, running)) {
    task.state = State::running;
  } else if (is_one_of(state, lost)) {
    task.state = State::lost;
    task.note = fmt::format("Slurm took it off its node{} ({})", where, state);
  } else if (state == "COMPLETED") {
    task.state = State::done;
  } else {
    task.state = State::failed;
    if (state == "OUT_OF_MEMORY" || log_tells_of_memory(log)) {
      task.outcome = Outcome::out_of_memory;
      task.note = fmt::format("it took more memory than its job was given{}", where);
    } else if (state == "TIMEOUT" || state == "DEADLINE") {
      task.outcome = Outcome::timed_out;
      task.note = fmt::format("it took longer than its job was given{}", where);
    } else if (state == "CANCELLED") {
      task.outcome = Outcome::cancelled;
      task.note = fmt::format("its job was cancelled{}", where);
    } else {
      const std::string said = last_line(log);
      task.note = fmt::format("its job ended as {}{}{}", core::printable(state), where,
                              said.empty() ? "" : ": " + said);
    }
  }
}

}  // namespace

std::unique_ptr<Scheduler> open(const Options& options) {
  return std::make_unique<SlurmScheduler>(options);
}

std::string array_of(std::span<const std::size_t> tasks) {
  std::string text;
  for (std::size_t from = 0; from < tasks.size();) {
    std::size_t to = from;
    while (to + 1 < tasks.size() && tasks[to + 1] == tasks[to] + 1) ++to;
    text += fmt::format("{}{}", text.empty() ? "" : ",", tasks[from]);
    if (to > from) text += fmt::format("-{}", tasks[to]);
    from = to + 1;
  }
  return text;
}

// Slurm requeues a task that is removed from its node, if possible; it sends SIGTERM first, and the
// task stops. `exec`: the signal reaches the program, not a waiting shell.
std::string job_script(const Options& options, std::span<const std::size_t> tasks) {
  std::string text = "#!/bin/bash\n";
  const auto option = [&](const std::string& words) { text += "#SBATCH " + words + "\n"; };
  option("--job-name=" + core::shell_word(options.job_name));
  option("--array=" + array_of(tasks) +
         (options.at_once > 0 ? fmt::format("%{}", options.at_once) : ""));
  option("--output=" + core::shell_word((options.folder / "%a.log").string()));
  option("--open-mode=append");
  option("--requeue");
  if (options.exclusive) option("--exclusive");
  for (const std::string& argument : options.arguments) option(core::shell_word(argument));
  text += "exec";
  for (const std::string& word : options.command) text += " " + core::shell_word(word);
  return text + "\n";
}

std::vector<Task> parse_tasks(std::string_view text, std::span<const std::size_t> submitted,
                              const std::filesystem::path& folder) {
  std::vector<Task> tasks;
  std::string state_of_others;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() < 2) continue;
    // squeue's "7", sacct's "123_7"; "N/A" and "123_[0-3]" have not begun.
    const std::string index = cells[0].substr(cells[0].rfind('_') + 1);
    Task task;
    const auto [end, error] =
        std::from_chars(index.data(), index.data() + index.size(), task.number);
    if (error != std::errc() || end != index.data() + index.size()) {
      state_of_others = cells[1];
      continue;
    }
    judge(task, cells[1], cells.size() > 3 ? cells[3] : "", folder);
    tasks.push_back(std::move(task));
  }
  if (state_of_others.empty()) return tasks;
  for (const std::size_t number : submitted) {
    if (std::ranges::find(tasks, number, &Task::number) != tasks.end()) continue;
    Task& task = tasks.emplace_back();
    task.number = number;
    judge(task, state_of_others, "", folder);
  }
  return tasks;
}

}  // namespace sweetspot::cluster::slurm
