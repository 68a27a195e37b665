#include "cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace sweetspot::tests {
namespace {

constexpr std::chrono::seconds patience{540};

struct Pipe {
  int read = -1, write = -1;
};

Pipe make_pipe(bool terminal, unsigned short columns) {
  Pipe made;
  int ends[2];
  if (terminal) {
    winsize size{24, columns, 0, 0};
    if (openpty(&made.read, &made.write, nullptr, nullptr, &size) != 0)
      throw std::runtime_error("no terminal");
  } else {
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    made = {ends[0], ends[1]};
  }
  fcntl(made.read, F_SETFD, FD_CLOEXEC);
  fcntl(made.write, F_SETFD, FD_CLOEXEC);
  return made;
}

[[noreturn]] void become(const Launch& launch, int out, int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (!launch.folder.empty() && chdir(launch.folder.c_str()) != 0) _exit(126);
  for (const auto& [name, value] : launch.environment)
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  if (launch.file_size_limit) {
    const rlimit limit{*launch.file_size_limit, *launch.file_size_limit};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::vector<char*> arguments{const_cast<char*>(SWEETSPOT_BINARY)};
  for (const std::string& argument : launch.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(SWEETSPOT_BINARY, arguments.data());
  _exit(127);
}

// False at the end of the stream; a terminal ends with an error.
bool read_some(int from, std::string& to) {
  std::array<char, 4096> buffer;
  const ssize_t size = read(from, buffer.data(), buffer.size());
  if (size > 0) to.append(buffer.data(), static_cast<std::size_t>(size));
  return size > 0;
}

}  // namespace

Finished run(const Launch& launch) {
  const Pipe out = make_pipe(launch.stdout_terminal, launch.columns);
  const Pipe err = make_pipe(launch.terminal, launch.columns);
  const int out_file = launch.stdout_file.empty()
                           ? -1
                           : open(launch.stdout_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  const pid_t child = fork();
  if (child == 0) become(launch, out_file >= 0 ? out_file : out.write, err.write);
  close(out.write);
  close(err.write);
  if (out_file >= 0) close(out_file);

  Finished finished;
  bool sent = launch.signal == 0;
  const auto started = std::chrono::steady_clock::now(), deadline = started + patience;
  if (launch.signal_after) {
    std::this_thread::sleep_until(started + *launch.signal_after);
    kill(child, launch.signal);
    sent = true;
  }
  auto cue = launch.cues.begin();
  std::array<pollfd, 2> streams{{{out.read, POLLIN, 0}, {err.read, POLLIN, 0}}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    if (std::chrono::steady_clock::now() > deadline) kill(child, SIGKILL);
    if (poll(streams.data(), streams.size(), 1000) <= 0) continue;
    if (streams[0].revents && !read_some(out.read, finished.out)) streams[0].fd = -1;
    if (streams[1].revents && !read_some(err.read, finished.err)) streams[1].fd = -1;
    if (!sent && (finished.out + finished.err).find(launch.signal_when_seen) != std::string::npos) {
      kill(child, launch.signal);
      sent = true;
    }
    while (sent && cue != launch.cues.end() &&
           (finished.out + finished.err).find(cue->seen) != std::string::npos)
      (cue++)->act(child);
  }
  close(out.read);
  close(err.read);
  int status = 0;
  waitpid(child, &status, 0);
  finished.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return finished;
}

Finished run(const std::vector<std::string>& arguments) {
  Launch launch;
  launch.arguments = arguments;
  return run(launch);
}

}  // namespace sweetspot::tests
