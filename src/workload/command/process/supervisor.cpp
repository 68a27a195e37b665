#include "workload/command/process/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::workload::command::process {
namespace {

void tell(const Charge& charge, const Word& word) {
  [[maybe_unused]] const ssize_t sent =
      send(charge.control, &word, sizeof word, MSG_NOSIGNAL);  // nobody there: nobody to tell
}

// Direct children only: when they are dead, theirs become ours. Until reaped, their ids are not
// reused.
void kill_children(pid_t main) {
  const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0) {  // a kernel without the file: at least the main process and its group
    kill(main, SIGKILL);
    kill(-main, SIGKILL);
    return;
  }
  char buffer[4096];
  pid_t pid = 0;
  for (ssize_t got = 0; (got = read(file, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        pid = pid * 10 + (buffer[i] - '0');
      } else {
        if (pid > 0) kill(pid, SIGKILL);
        pid = 0;
      }
    }
  if (pid > 0) kill(pid, SIGKILL);
  close(file);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Reaps the dead. False if no child is left.
bool reap(const Charge& charge, pid_t main, double& cpu_seconds) {
  for (;;) {
    int status = 0;
    rusage used{};
    // A process's usage includes that of the children it waited for. __WALL: clones whose exit
    // signal is not SIGCHLD count too.
    const pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &used);
    if (pid == 0) return true;
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return false;
    cpu_seconds += seconds(used.ru_utime) + seconds(used.ru_stime);
    if (pid == main) tell(charge, {.kind = Word::main_ended, .status = status});
  }
}

// Closes everything of our process except the two descriptors it needs: pipes must end when their
// writers do.
void keep_only(int one, int other) {
  const unsigned low = static_cast<unsigned>(std::min(one, other));
  const unsigned high = static_cast<unsigned>(std::max(one, other));
  if (one >= 0 && other >= 0) {
    if (low > 0) close_from_to(0, low - 1);
    if (high > low + 1) close_from_to(low + 1, high - 1);
  } else if (high > 0) {
    close_from_to(0, high - 1);
  }
  close_from_to(high + 1, ~0u);
}

void remove_cgroup(const char* folder) {
  for (int attempt = 0; folder && rmdir(folder) != 0 && errno == EBUSY && attempt < 100; ++attempt)
    poll(nullptr, 0, 1);  // the kernel releases it slightly after the last process
}

[[noreturn]] void watch(const Charge& charge) {
  setsid();  // Ctrl-C on our terminal is for us alone
  prctl(PR_SET_NAME, "sweetspot-ward");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);  // if ignored, the dead would vanish unseen

  Word start;
  const pid_t main = start_program(charge, start);
  keep_only(charge.control, charge.employer);
  const int deaths = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  tell(charge, start);

  double cpu_seconds = 0;
  bool killing = false, deserted = false;
  int pause_ms = 1;
  while (reap(charge, main, cpu_seconds)) {
    if (killing) kill_children(main);
    pollfd wait[] = {{deaths, POLLIN, 0},
                     {deserted ? -1 : charge.control, POLLIN, 0},
                     {deserted ? -1 : charge.employer, POLLIN, 0}};
    // Deaths further down are not announced to us, hence the growing pause.
    poll(wait, 3, killing ? pause_ms : -1);
    if (killing) pause_ms = std::min(pause_ms * 2, 64);
    signalfd_siginfo ignored;
    while (read(deaths, &ignored, sizeof ignored) > 0) pause_ms = 1;
    char order = 0;
    if (wait[1].revents && recv(charge.control, &order, 1, MSG_DONTWAIT) == 0) deserted = true;
    if (wait[2].revents) deserted = true;
    killing = killing || deserted || order == kill_order;
  }
  tell(charge, {.kind = Word::gone, .cpu_seconds = cpu_seconds});
  if (deserted) {
    remove_cgroup(charge.cgroup_folder);
    if (charge.remove) execve(charge.remove[0], charge.remove, charge.environment);
  }
  _exit(0);
}

}  // namespace

pid_t appoint(const Charge& charge) {
  // No handler of ours may run in the supervisor, and no signal meant for us may end it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) watch(charge);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    throw core::MachineError(
        fmt::format("cannot start another process: {}; see the limits on processes (ulimit -u) and "
                    "free memory",
                    std::generic_category().message(error)));
  return pid;
}

namespace {

constexpr int look_again_ms = 100;

// Somebody else may already have waited for it: then it is dead too.
bool is_dead(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno == ECHILD;
  return info.si_pid == pid;
}

}  // namespace

SupervisorLink::SupervisorLink(Charge charge) {
  Pair sockets = make_sockets();
  const Descriptor ourselves(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  control_ = std::move(sockets.read);
  charge.control = sockets.write.number();
  charge.employer = ourselves.number();
  pid_ = appoint(charge);
  sockets.write.close();
  start_.kind = Word::failed;
  start_.stage = Word::fork;
  start_.error = ECHILD;  // unless it says otherwise
  for (bool heard = false; !heard && !lost_;) {
    pollfd wait{control_.number(), POLLIN, 0};
    poll(&wait, 1, look_again_ms);
    Word word;
    const bool dead = is_dead(pid_);  // before the last read, or a message could arrive in between
    heard = recv(control_.number(), &word, sizeof word, MSG_DONTWAIT) == sizeof word;
    if (heard) start_ = word;
    lost_ = !heard && dead;
  }
}

SupervisorLink::~SupervisorLink() { dismiss(); }

void SupervisorLink::dismiss() {
  if (!control_) return;
  control_.close();
  if (abandoned_) return;
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void SupervisorLink::listen() {
  if (gone_ || lost_ || !control_) return;
  Word word;
  ssize_t got = 0;
  while ((got = recv(control_.number(), &word, sizeof word, MSG_DONTWAIT)) == sizeof word)
    hear(word);
  if (got == 0) lose();
}

void SupervisorLink::look() {
  const bool dead = control_ && is_dead(pid_);  // first, or a message could arrive in between
  listen();
  if (dead) lose();
}

void SupervisorLink::lose() {
  if (gone_) return;
  lost_ = true;
  if (!main_status_) main_status_ = SIGKILL;  // it dies with the supervisor, by that signal
}

void SupervisorLink::hear(const Word& word) {
  if (word.kind == Word::main_ended) main_status_ = word.status;
  if (word.kind == Word::gone) {
    gone_ = true;
    cpu_seconds_ = word.cpu_seconds;
  }
}

void SupervisorLink::order_kill() const {
  if (!control_) return;
  [[maybe_unused]] const ssize_t sent = send(control_.number(), &kill_order, 1, MSG_NOSIGNAL);
}

namespace {

std::string sentence(const std::string& program, int error) {
  const bool is_path = program.find('/') != program.npos;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return is_path
                 ? fmt::format(
                       "{} cannot be run: there is no such file, or its #! line names "
                       "none; check the path",
                       program)
                 : fmt::format("{} was not found on PATH; install it or give its path", program);
    case EACCES:
      return fmt::format("{} may not be executed; chmod +x it, or name its interpreter before it",
                         program);
    case ENOEXEC:
      return fmt::format("{} is no program and has no #! line; name its interpreter before it",
                         program);
    case E2BIG:
      return fmt::format("the arguments and environment of {} are too long; shorten them", program);
    default:
      return fmt::format("{} cannot be run: {}; try it by hand", program,
                         std::generic_category().message(error));
  }
}

}  // namespace

void refuse(const Launch& launch, const Word& word) {
  const std::string reason = std::generic_category().message(word.error);
  if (word.stage == Word::folder)
    throw core::InputError(fmt::format("the folder {} cannot be entered: {}; name one that can",
                                       core::printable(launch.folder->string()), reason));
  if (word.stage == Word::fork)
    throw core::MachineError(fmt::format(
        "cannot start another process: {}; see the limits on processes (ulimit -u) and free memory",
        reason));
  throw core::InputError(sentence(core::printable(launch.argv.front()), word.error));
}

}  // namespace sweetspot::workload::command::process
