#include "workload/command/process/process.h"

#include <signal.h>
#include <sys/wait.h>

#include "workload/command/process/state.h"

namespace sweetspot::workload::command::process {
namespace {

constexpr std::size_t most_bytes_per_call = core::MiB;

}  // namespace

Process::Process(const Launch& launch) : state_(std::make_unique<State>(launch)) {}

Process::~Process() {
  try {
    end(core::Seconds(0));
  } catch (...) {
    // Closing its socket tells the supervisor to kill; nothing more can be done here.
  }
}

std::vector<int> Process::descriptors() const {
  std::vector<int> found = state_->streams.open();
  if (!state_->supervisor->main_status()) found.push_back(state_->supervisor->descriptor());
  return found;
}

std::vector<Chunk> Process::take() {
  state_->supervisor->listen();
  std::vector<Chunk> chunks;
  chunks.swap(state_->kept);
  state_->streams.read(chunks, most_bytes_per_call);
  return chunks;
}

bool Process::ended() {
  state_->supervisor->listen();
  return state_->supervisor->main_status().has_value();
}

std::optional<Memory> Process::memory() {
  if (!state_->ending) state_->peak_memory->sample();
  return state_->peak_memory->peak();
}

std::size_t Process::count() const { return state_->tree ? state_->tree->members().size() : 0; }

bool Process::memory_limited() const { return state_->memory_limited; }

std::vector<pid_t> Process::members() const { return state_->tree->members(); }

bool Process::has(pid_t pid) const { return state_->tree->belongs(pid); }

Ending Process::end(core::Seconds grace) {
  State& state = *state_;
  if (state.ending) return *state.ending;
  Ending ending;
  ending.stopped_by_us = !ended();
  state.peak_memory->sample_last();
  if (grace.count() > 0 && !state.wait_until_empty(core::Seconds(0))) {
    state.tree->signal(SIGTERM);
    state.tree->signal(SIGCONT);  // a stopped one would not receive it
    state.wait_until_empty(grace);
  }
  state.kill_all();

  const int status = state.supervisor->main_status().value_or(SIGKILL);
  if (WIFEXITED(status)) ending.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  state.peak_memory->sample_last();  // a cgroup's peak outlives its processes
  ending.memory = state.peak_memory->peak();
  ending.oom_killed = state.oom_killed();
  ending.cpu_seconds = state.supervisor->cpu_seconds();
  state.supervisor->dismiss();
  state.tree->lose_cgroup();
  state.cgroup.reset();
  state.ending = ending;
  return ending;
}

}  // namespace sweetspot::workload::command::process
