#include "cli/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "core/error.h"

namespace sweetspot::cli {
namespace {

std::atomic<int> received{0}, pressed{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch nothing else");

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

void note(int signal) {
  received = signal;
  // Then Ctrl-C kills: the first signal may be stuck behind a long step. SIGTERM does not: some
  // send it twice, to the process and to its group.
  handle(SIGINT, SIG_DFL, 0);
}

sigset_t stopping_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

constexpr int last_counted_press = 2;

// From a handler: only write() may be called.
void say(std::string_view words) {
  if (write(STDERR_FILENO, words.data(), words.size()) < 0) return;  // nobody listens
}

// A sender of SIGTERM kills soon after, and some send it twice: it stops the trial immediately and
// does no more, so that there is time to save and answer.
void count_term(int signal) {
  received = signal;
  if (pressed.exchange(last_counted_press) >= last_counted_press) return;
  say("\nsweetspot: stopping this trial, then answering; Ctrl-C leaves at once\n");
  handle(SIGINT, SIG_DFL, 0);
}

void count_press(int signal) {
  received = signal;
  if (++pressed < last_counted_press) {
    say("\nsweetspot: finishing this round or trial, then answering; once more stops it now\n");
    return;
  }
  say("\nsweetspot: stopping this trial; once more leaves at once\n");
  handle(SIGINT, SIG_DFL, 0);
}

}  // namespace

void turn_signals_into_errors() {
  handle(SIGPIPE, SIG_IGN, 0);
  handle(SIGXFSZ, SIG_IGN, 0);
}

StopOnSignal::StopOnSignal(bool of_rank) {
  handle(SIGINT, note, SA_RESTART);
  handle(SIGTERM, note, SA_RESTART);
  if (of_rank) handle(SIGUSR1, note, SA_RESTART);
}

StopOnSignal::~StopOnSignal() {
  handle(SIGINT, SIG_DFL, 0);
  handle(SIGTERM, SIG_DFL, 0);
  // SIGUSR1 stays caught: it must not kill a rank that is about to end.
}

const std::atomic<int>& StopOnSignal::stopped() { return received; }

CountSignals::CountSignals(bool of_rank) {
  handle(SIGINT, count_press, SA_RESTART);
  handle(SIGTERM, count_term, SA_RESTART);
  if (of_rank) handle(SIGUSR1, count_press, SA_RESTART);
}

CountSignals::~CountSignals() {
  handle(SIGINT, SIG_DFL, 0);
  handle(SIGTERM, SIG_DFL, 0);
}

const std::atomic<int>& CountSignals::presses() { return pressed; }
int CountSignals::last() { return received != 0 ? received.load() : SIGHUP; }

SignalDescriptor::SignalDescriptor() {
  const sigset_t signals = stopping_signals();
  descriptor_ = core::Descriptor(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!descriptor_)
    throw core::MachineError("the kernel gave no descriptor for signals; see ulimit -n");
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

SignalDescriptor::~SignalDescriptor() {
  const sigset_t signals = stopping_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

int SignalDescriptor::received() const {
  signalfd_siginfo info{};
  while (read(number(), &info, sizeof info) < 0 && errno == EINTR) {
  }
  return static_cast<int>(info.ssi_signo);
}

}  // namespace sweetspot::cli
