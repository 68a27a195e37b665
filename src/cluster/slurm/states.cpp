#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "cluster/slurm/slurm.h"
#include "core/text.h"

namespace sweetspot::cluster::slurm {
namespace {

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
