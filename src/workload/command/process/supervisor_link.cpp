#include "workload/command/process/supervisor_link.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace sweetspot::workload::command::process {
namespace {

constexpr int look_again_ms = 100;

// Somebody else may have waited for it already: then it is dead, too.
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
    const bool dead = is_dead(pid_);  // before the last look, or a word could slip in between
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
  const bool dead = control_ && is_dead(pid_);  // first, or a word could slip in between
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

}  // namespace sweetspot::workload::command::process
