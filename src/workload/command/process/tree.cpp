#include "workload/command/process/tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command::process {
namespace {

std::string proc(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

struct Status {
  char state = 'Z';
  pid_t parent = 0;
};
// "4211 (a name) with) spaces) S 1 …": the text after the last parenthesis is regular.
std::optional<Status> status_of(pid_t pid) {
  const std::string text = read_file(proc(pid, "stat")).value_or("");
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  std::istringstream words(text.substr(name_end + 1));
  Status status;
  if (!(words >> status.state >> status.parent)) return std::nullopt;
  return status;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  for (const std::string& name : entries("/proc"))
    if (std::isdigit(static_cast<unsigned char>(name.front()))) found.push_back(std::stoi(name));
  return found;
}

std::vector<pid_t> children_by_search(pid_t parent) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes())
    if (const auto status = status_of(pid); status && status->parent == parent)
      found.push_back(pid);
  return found;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> found;
  const std::string tasks = proc(pid, "task");
  for (const std::string& task : entries(tasks)) {  // each thread lists those it created
    const auto list = read_file(tasks + "/" + task + "/children");
    const bool kernel_has_lists = list || access((tasks + "/" + task).c_str(), F_OK) != 0;
    if (!kernel_has_lists) return children_by_search(pid);
    for (const pid_t child : numbers(list.value_or(""))) found.push_back(child);
  }
  return found;
}

void add_descendants(pid_t pid, std::set<pid_t>& found) {
  for (const pid_t child : children_of(pid))
    if (found.insert(child).second) add_descendants(child, found);
}

bool is_below(pid_t pid, pid_t ancestor) {
  while (const auto status = status_of(pid)) {
    if (status->parent == ancestor) return true;
    if (status->parent <= 1) return false;
    pid = status->parent;
  }
  return false;
}

bool has_mark(pid_t pid, const std::string& mark) {
  const std::string environment = '\0' + read_file(proc(pid, "environ")).value_or("");
  return environment.find('\0' + mark + '\0') != environment.npos;
}

}  // namespace

std::vector<pid_t> family_of(pid_t pid) {
  std::set<pid_t> found{pid}, ours{getpid()};
  add_descendants(pid, found);
  add_descendants(getpid(), ours);
  std::vector<pid_t> family;
  std::ranges::set_difference(found, ours, std::back_inserter(family));
  return family;
}

bool is_family(pid_t pid, pid_t of) {
  return (pid == of || is_below(pid, of)) && pid != getpid() && !is_below(pid, getpid());
}

std::vector<pid_t> Tree::members() const {
  std::set<pid_t> found;
  if (cgroup_)
    for (const pid_t pid : cgroup_->processes()) found.insert(pid);
  if (supervisor_lost_) {
    for (const pid_t pid : all_processes())
      if (has_mark(pid, mark_)) found.insert(pid);
  } else {
    add_descendants(supervisor_, found);
  }
  std::erase_if(found, [](pid_t pid) {
    const auto status = status_of(pid);
    return !status || status->state == 'Z' || status->state == 'X';
  });
  return {found.begin(), found.end()};
}

bool Tree::belongs(pid_t pid) const {
  if (!supervisor_lost_ && is_below(pid, supervisor_)) return true;
  const std::string groups = read_file(proc(pid, "cgroup")).value_or("");
  const std::string name =
      cgroup_ ? cgroup_->place().folder.substr(cgroup_->place().folder.rfind('/')) : "";
  return (cgroup_ && groups.find(name) != groups.npos) || has_mark(pid, mark_);
}

bool Tree::empty() const {
  for (const Descriptor& one : dying_) {
    pollfd wait{one.number(), POLLIN, 0};  // readable once it is dead
    if (poll(&wait, 1, 0) == 0) return false;
  }
  return members().empty();
}

void Tree::signal(int number) {
  for (const pid_t pid : members()) {
    // The descriptor pins one process: if that is in the tree, no other gets the signal.
    Descriptor holder(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!belongs(pid)) continue;
    if (holder)
      syscall(SYS_pidfd_send_signal, holder.number(), number, nullptr, 0);
    else
      kill(pid, number);  // a kernel before 5.3, or no descriptor left
    if (holder && supervisor_lost_ && number == SIGKILL) dying_.push_back(std::move(holder));
  }
}

}  // namespace sweetspot::workload::command::process
