#include "faults/victim.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace sweetspot::tests {
namespace {

constexpr int patience_ms = 60000;  // for a machine under sanitizers and load

}  // namespace

Victim::Victim(const std::filesystem::path& database, unsigned seed,
               const std::function<void()>& prepare) {
  const std::string file = database.string(), number = std::to_string(seed);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ == 0) {
    prepare();
    dup2(ends[1], STDOUT_FILENO);
    execl(STORE_WRITER, STORE_WRITER, file.c_str(), number.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

Victim::~Victim() {
  if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
  close(pipe_);
}

bool Victim::read_some() {
  pollfd ready{pipe_, POLLIN, 0};
  if (poll(&ready, 1, patience_ms) <= 0) throw std::runtime_error("the writer says nothing");
  char bytes[4096];
  const ssize_t count = read(pipe_, bytes, sizeof bytes);
  if (count > 0) said_.append(bytes, static_cast<std::size_t>(count));
  return count > 0;
}

void Victim::wait_until(const std::function<bool()>& seen) {
  while (!seen())
    if (!read_some()) throw std::runtime_error("the writer ended: " + said_);
}

void Victim::wait_for(const std::string& words) {
  wait_until([&] { return said_.find(words) != std::string::npos; });
}

void Victim::wait_for_lines(std::ptrdiff_t count) {
  wait_until([&] { return std::count(said_.begin(), said_.end(), '\n') >= count; });
}

LastWords Victim::reap() {
  while (read_some()) {
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  LastWords words;
  words.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  std::istringstream lines(said_);
  for (std::string word, rest; lines >> word && std::getline(lines >> std::ws, rest);) {
    if (word == "opened") words.study = std::stoll(rest);
    if (word == "trial") words.trials = std::stoll(rest);
    if (word == "failed") words.failure = rest;
  }
  return words;
}

// The exact moment is what is tested; there is nothing to wait for.
LastWords Victim::kill_after(std::chrono::microseconds moment) {
  std::this_thread::sleep_for(moment);
  kill(pid_, SIGKILL);
  return reap();
}

LastWords Victim::wait() { return reap(); }

}  // namespace sweetspot::tests
