#include "cluster/mpi/local_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/text.h"

namespace sweetspot::cluster::mpi {
namespace {

// Open MPI's rules have 74 dashes.
bool is_rule(const std::string& line) {
  return line.size() >= 70 && line.find_first_not_of('-') == std::string::npos;
}

// They repeat that a rank failed, which the rank itself has reported.
constexpr const char* repetitions[] = {"Primary job  terminated normally",
                                       "exited with non-zero status", "MPI_ABORT was invoked",
                                       "ended prematurely and may have crashed"};

constexpr int not_found_exit = 127;

std::vector<std::string> mpirun_command(const std::vector<std::string>& command, int ranks) {
  // Only on this machine, by no other launcher; more ranks than cores are allowed, and such ranks
  // yield the cores while they wait.
  std::vector<std::string> words{
      "mpirun", "-n", std::to_string(ranks), "--host", fmt::format("localhost:{}", ranks), "--mca",
      "plm", "isolated", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
      // Reading each other's memory needs a permission that containers do not grant.
      "--mca", "btl_vader_single_copy_mechanism", "none"};
  if (geteuid() == 0) words.push_back("--allow-run-as-root");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// In its own process group, so that Ctrl-C is ours alone; it ends with us.
[[noreturn]] void become(const std::vector<std::string>& words, int stderr_to) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  dup2(stderr_to, STDERR_FILENO);
  if (const int nothing = open("/dev/null", O_RDONLY); nothing >= 0) dup2(nothing, STDIN_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  _exit(not_found_exit);
}

// Calls take(line) for each line that can be read by now; false at the end.
template <class Take>
bool read_lines(int descriptor, std::string& rest, Take take) {
  char bytes[4096];
  const ssize_t count = read(descriptor, bytes, sizeof bytes);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  rest.append(bytes, static_cast<std::size_t>(count));
  for (std::size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1))
    take(rest.substr(0, end));
  return count > 0;
}

}  // namespace

std::optional<std::string> MpirunWords::line(const std::string& line) {
  if (is_rule(line)) {
    if (inside_) end_block();
    inside_ = !inside_;
    return std::nullopt;
  }
  if (line.starts_with("mpirun: Forwarding signal")) return std::nullopt;
  if (!inside_) return line;
  if (!line.empty()) block_ += (block_.empty() ? "" : " ") + line;
  return std::nullopt;
}

void MpirunWords::end_block() {
  const std::string block = std::move(block_);
  block_.clear();
  LostRank lost;
  if (const auto at = block.find("process rank "); at != std::string::npos)
    if (std::sscanf(block.c_str() + at,
                    "process rank %d with PID %*d on node %*s exited on signal %d", &lost.rank,
                    &lost.signal) == 2) {
      if (!lost_) lost_ = lost;
      return;
    }
  for (const char* words : repetitions)
    if (block.find(words) != std::string::npos) return;
  if (complaint_.empty()) complaint_ = block;
}

int run_local_ranks(const std::vector<std::string>& command, int ranks,
                    const std::atomic<int>& stop,
                    const std::function<void(const std::string&)>& say) {
  const std::vector<std::string> words = mpirun_command(command, ranks);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw core::MachineError("the kernel gave no pipe for mpirun; see ulimit -n");
  core::Descriptor from_ranks(ends[0]), to_us(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) throw core::MachineError("the machine refused a process for mpirun; see ulimit -u");
  if (pid == 0) become(words, ends[1]);
  to_us.close();

  MpirunWords mpirun;
  std::string rest;
  const auto take = [&](const std::string& line) {
    if (const auto of_ranks = mpirun.line(line)) say(*of_ranks);
  };
  bool told_to_stop = false;
  for (bool open = true; open;) {
    pollfd readable{from_ranks.number(), POLLIN, 0};
    constexpr int look_at_stop_ms = 100;
    if (poll(&readable, 1, look_at_stop_ms) > 0) open = read_lines(from_ranks.number(), rest, take);
    if (stop != 0 && !told_to_stop) told_to_stop = kill(pid, SIGUSR1) == 0;
  }
  if (!rest.empty()) take(rest);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found_exit)
    throw core::InputError(
        "there is no mpirun, which starts ranks; install openmpi-bin (scripts/setup does), or "
        "leave out --ranks");
  if (mpirun.lost() && stop == 0)
    throw core::MachineError(fmt::format(
        "rank {} of {} was killed by signal {} ({}), so the others were ended; run it again, with "
        "fewer --ranks or a smaller batch if it was memory that ran out",
        mpirun.lost()->rank, ranks, mpirun.lost()->signal, strsignal(mpirun.lost()->signal)));
  if (WIFSIGNALED(status))
    throw core::MachineError(fmt::format("mpirun was killed by signal {} ({}); run it again",
                                         WTERMSIG(status), strsignal(WTERMSIG(status))));
  if (WEXITSTATUS(status) != 0 && !mpirun.complaint().empty())
    throw core::MachineError(fmt::format("mpirun could not run {} ranks: {}", ranks,
                                         core::printable(mpirun.complaint())));
  return WEXITSTATUS(status);
}

}  // namespace sweetspot::cluster::mpi
