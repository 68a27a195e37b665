#include "workload/command/process/state.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "core/error.h"
#include "workload/command/process/supervisor.h"

extern char** environ;

namespace sweetspot::workload::command::process {
namespace {

constexpr const char* usual_path = "/usr/local/bin:/usr/bin:/bin";  // if there is no PATH

void set(std::vector<std::string>& variables, const std::string& name, const std::string& value) {
  std::erase_if(variables, [&](const std::string& known) {
    return known.size() > name.size() && known[name.size()] == '=' && known.starts_with(name);
  });
  variables.push_back(name + "=" + value);
}

std::string value_of(const std::vector<std::string>& variables, const std::string& name,
                     const std::string& otherwise) {
  for (const std::string& variable : variables)
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  return otherwise;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

}  // namespace

Image::Image(const Launch& launch, const std::string& mark) : arguments_(launch.argv) {
  if (arguments_.empty() || arguments_.front().empty())
    throw core::InputError("no program to run was given; name one after --");
  for (char** variable = environ; variable && *variable; ++variable)
    variables_.emplace_back(*variable);
  for (const auto& [name, value] : launch.environment) set(variables_, name, value);
  set(variables_, mark.substr(0, mark.find('=')), mark.substr(mark.find('=') + 1));

  const std::string& program = arguments_.front();
  if (program.find('/') != program.npos) {
    paths_.push_back(program);  // relative to its working directory
  } else {
    std::istringstream folders(value_of(variables_, "PATH", usual_path));
    for (std::string folder; std::getline(folders, folder, ':');)
      paths_.push_back((folder.empty() ? "." : folder) + "/" + program);
  }
  if (launch.folder) folder_ = launch.folder->string();
  for (const std::string& path : paths_) candidates_.push_back(path.c_str());
  candidates_.push_back(nullptr);
  argv_ = pointers(arguments_);
  environment_ = pointers(variables_);
  if (launch.leftovers.empty()) return;
  removal_ = {"/bin/rm", "-rf", "--"};
  for (const auto& path : launch.leftovers) removal_.push_back(path.string());
  remove_ = pointers(removal_);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_kept_bytes = core::MiB;
// SIGKILL works immediately, but a driver may take a while to free a large device memory.
constexpr core::Seconds most_time_to_die{60};
constexpr core::Seconds between_kills{0.02};

std::string random_name() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
    bits = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  return fmt::format("sweetspot-{}-{:016x}", getpid(), bits);
}

}  // namespace

std::optional<std::uint64_t> shared_oom_kills() {
  for (const CgroupPlace& place : own_cgroups())
    if (const auto count = oom_kills(place)) return count;
  return std::nullopt;
}

Process::State::State(const Launch& launch)
    : name(random_name()),
      mark("SWEETSPOT_TREE=" + name),
      streams(launch.terminal),
      cgroup(Cgroup::make(name)) {
  if (launch.memory_limit && cgroup && cgroup->accounts_memory())
    memory_limited = cgroup->limit_memory(*launch.memory_limit);
  start(launch);
  tree.emplace(supervisor->pid(), cgroup ? &*cgroup : nullptr, mark);
  peak_memory.emplace(*tree, cgroup ? &*cgroup : nullptr);
}

void Process::State::start(const Launch& launch) {
  const Image image(launch, mark);
  const Descriptor input = open_null();
  const Descriptor procs = cgroup ? cgroup->open_procs() : Descriptor();
  supervisor.emplace(Charge{.candidates = image.candidates(),
                            .argv = image.argv(),
                            .environment = image.environment(),
                            .folder = image.folder(),
                            .input = input.number(),
                            .output = streams.output(),
                            .errors = streams.errors(),
                            .control = -1,
                            .employer = -1,
                            .cgroup_procs = procs.number(),
                            .cgroup_folder = cgroup ? cgroup->place().folder.c_str() : nullptr,
                            .remove = image.remove(),
                            .user_namespace = launch.user_namespace,
                            .mount_namespace = launch.mount_namespace});
  streams.close_program_ends();
  if (supervisor->start().kind == Word::failed) refuse(launch, supervisor->start());
  if (!supervisor->start().in_cgroup) {
    cgroup.reset();
    memory_limited = false;
  }
}

bool Process::State::empty() const {
  return supervisor->gone() || (supervisor->lost() && tree->empty());
}

void Process::State::keep_output() {
  streams.read(kept, most_kept_bytes);
  std::size_t bytes = 0;
  auto oldest = kept.end();
  while (oldest != kept.begin() && bytes < most_kept_bytes) bytes += (--oldest)->bytes.size();
  kept.erase(kept.begin(), oldest);
}

bool Process::State::wait_until_empty(core::Seconds time) {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  for (;;) {
    supervisor->look();
    if (supervisor->lost()) tree->lose_supervisor();
    if (empty()) return true;
    const core::Seconds left = until - Clock::now();
    if (left.count() <= 0) return false;
    std::vector<int> inputs = streams.open();
    if (!supervisor->lost()) inputs.push_back(supervisor->descriptor());
    // A lost supervisor reports nothing: poll again soon.
    const double most = supervisor->lost() ? between_kills.count() : 1;
    wait_for_input(inputs, std::min(left.count(), most));
    keep_output();
  }
}

void Process::State::kill_all() {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(most_time_to_die);
  supervisor->order_kill();
  while (!wait_until_empty(core::Seconds(0))) {
    if (cgroup) cgroup->kill();
    // The supervisor kills its children and what becomes one; this reaches all levels at once.
    tree->signal(SIGKILL);
    if (wait_until_empty(between_kills)) break;
    if (Clock::now() > until) {
      supervisor->abandon();
      const auto left = tree->members();
      throw core::MachineError(
          fmt::format("process {} does not end although it was killed; see what it waits for in "
                      "/proc/{}/stack, and start over when it is gone",
                      left.empty() ? supervisor->pid() : left.front(),
                      left.empty() ? supervisor->pid() : left.front()));
    }
  }
}

bool Process::State::oom_killed() const {
  if (cgroup)
    if (const auto own = oom_kills(cgroup->place())) return *own > 0;
  const auto now = shared_oom_kills();
  return now && oom_kills_before && *now > *oom_kills_before;
}

}  // namespace sweetspot::workload::command::process
