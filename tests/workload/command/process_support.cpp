#include "workload/command/process_support.h"

#include <poll.h>
#include <signal.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace sweetspot::workload::command::process {
namespace {

namespace fs = std::filesystem;

void collect(Process& process, Output& output) {
  for (const Chunk& chunk : process.take())
    (chunk.error_stream ? output.err : output.out) += chunk.bytes;
}

void wait_and_collect(Process& process, Output& output) {
  std::vector<pollfd> wait;
  for (const int number : process.descriptors()) wait.push_back({number, POLLIN, 0});
  poll(wait.data(), wait.size(), -1);
  collect(process, output);
}

}  // namespace

Launch shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

Launch python(const std::string& script) {
  return {.argv = {"python3", "-c", script}, .environment = {{"PYTHONUNBUFFERED", "1"}}};
}

Output read_some(Process& process) {
  Output output;
  wait_and_collect(process, output);
  return output;
}

Output read_until(Process& process, const std::string& marker) {
  Output output;
  while (!process.descriptors().empty() &&
         (output.out + output.err).find(marker) == std::string::npos)
    wait_and_collect(process, output);
  return output;
}

Output read_all(Process& process) {
  Output output;
  collect(process, output);  // what was read while it was ended
  while (!process.descriptors().empty()) wait_and_collect(process, output);
  return output;
}

Output read_until_ended(Process& process) {
  Output output;
  while (!process.ended()) wait_and_collect(process, output);
  return output;
}

bool exists(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

bool runs(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("State:")) return line.find("Z (") == std::string::npos;
  return false;
}

std::vector<pid_t> pids_in(const std::string& output, const std::string& key) {
  std::vector<pid_t> found;
  std::istringstream words(output);
  for (std::string word; words >> word;)
    if (pid_t pid = 0; word == key && words >> pid) found.push_back(pid);
  return found;
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> found;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid = 0; list >> pid;) found.push_back(pid);
  }
  return found;
}

}  // namespace sweetspot::workload::command::process
