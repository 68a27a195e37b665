#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "workload/command/process/supervisor.h"

namespace sweetspot::workload::command::process {
namespace {

constexpr unsigned most_descriptors = 65536;  // checked if there is no close_range()

// What the new process reports before exec; nothing more means that exec succeeded.
struct Note {
  enum Kind : int { joined_cgroup, bad_folder, bad_program } kind;
  int error;
};

void say(int pipe, Note::Kind kind, int error) {
  const Note note{kind, error};
  [[maybe_unused]] const ssize_t written = write(pipe, &note, sizeof note);
}

void restore_signals() {
  // Caught signals are reset by exec; ignored or blocked ones are not.
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void hide_from_program(unsigned first) {
  if (close_range(first, ~0u, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (unsigned number = first; number < most_descriptors; ++number)
    fcntl(static_cast<int>(number), F_SETFD, FD_CLOEXEC);
}

bool enter(int name_space, int kind) { return name_space < 0 || setns(name_space, kind) == 0; }

// Like execvp(), but without a shell for a file that is not executable.
int try_candidates(const Charge& charge) {
  int worst = ENOENT;
  for (const char* const* path = charge.candidates; *path; ++path) {
    execve(*path, charge.argv, charge.environment);
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) return errno;
    // There may be a better one further on PATH; an inaccessible folder on it says nothing.
    const bool only_one = !charge.candidates[1];
    if (errno == EACCES && (only_one || access(*path, F_OK) == 0)) worst = EACCES;
  }
  return worst;
}

[[noreturn]] void become_program(const Charge& charge, pid_t supervisor, int notes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(127);  // it died before we could notice
  setsid();
  if (charge.cgroup_procs >= 0 && write(charge.cgroup_procs, "0", 1) == 1)
    say(notes, Note::joined_cgroup, 0);
  dup2(charge.input, STDIN_FILENO);
  dup2(charge.output, STDOUT_FILENO);
  dup2(charge.errors, STDERR_FILENO);
  hide_from_program(STDERR_FILENO + 1);
  if (!enter(charge.user_namespace, CLONE_NEWUSER) || !enter(charge.mount_namespace, CLONE_NEWNS) ||
      (charge.folder && chdir(charge.folder) != 0)) {
    say(notes, Note::bad_folder, errno);
    _exit(127);
  }
  if (charge.user_namespace >= 0) {  // entering it changes the credentials, which resets this
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(127);
  }
  restore_signals();
  say(notes, Note::bad_program, try_candidates(charge));
  _exit(127);
}

void listen(int notes, Word& word) {
  Note note;
  for (;;) {
    const ssize_t got = read(notes, &note, sizeof note);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof note)) return;
    if (note.kind == Note::joined_cgroup) {
      word.in_cgroup = 1;
    } else {
      word.kind = Word::failed;
      word.stage = note.kind == Note::bad_folder ? Word::folder : Word::program;
      word.error = note.error;
    }
  }
}

}  // namespace

pid_t start_program(const Charge& charge, Word& word) {
  word.kind = Word::failed;
  word.stage = Word::fork;
  int notes[2];  // created here, where no other thread can fork a copy that keeps it open
  if (pipe2(notes, O_CLOEXEC) != 0) {
    word.error = errno;
    return -1;
  }
  // Above the program's standard streams, which may be free in our process.
  const int speaker = fcntl(notes[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(notes[1]);
  const pid_t supervisor = getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_program(charge, supervisor, speaker);
  word.error = errno;
  close(speaker);
  if (pid > 0) {
    word.kind = Word::started;
    word.error = 0;
    listen(notes[0], word);
  }
  close(notes[0]);
  return pid;
}

void close_from_to(unsigned first, unsigned last) {
  if (close_range(first, last, 0) == 0) return;
  for (unsigned number = first; number <= std::min(last, most_descriptors); ++number)
    close(static_cast<int>(number));
}

}  // namespace sweetspot::workload::command::process
