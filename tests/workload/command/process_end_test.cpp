// How a process tree ends: by itself or by us, with nothing left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temporary_folder.h"
#include "workload/command/process_support.h"

namespace sweetspot::workload::command::process {
namespace {

constexpr core::Seconds at_once{0};
constexpr core::Seconds patient{30};  // more than any of them needs
constexpr core::Seconds impatient{0.05};

TEST(ProcessEnd, TellsHowTheProgramEnded) {
  Process fine(shell("exit 0")), failed(shell("exit 7")), killed(shell("kill -USR1 $$"));
  for (Process* process : {&fine, &failed, &killed}) read_all(*process);
  EXPECT_EQ(fine.end(at_once).exit_code, 0);
  EXPECT_EQ(failed.end(at_once).exit_code, 7);
  const Ending ending = killed.end(at_once);
  EXPECT_EQ(ending.exit_code, std::nullopt);
  EXPECT_EQ(ending.signal, SIGUSR1);
  EXPECT_FALSE(ending.stopped_by_us);
  EXPECT_FALSE(ending.oom_killed);
}

TEST(ProcessEnd, LetsTheProgramFinishWithinTheGrace) {
  Process process(shell("trap 'echo bye; exit 3' TERM; echo ready; while :; do read x; done"));
  read_until(process, "ready");
  const Ending ending = process.end(patient);
  EXPECT_TRUE(ending.stopped_by_us);
  EXPECT_EQ(ending.exit_code, 3);
  EXPECT_EQ(read_all(process).out, "bye\n");
  EXPECT_EQ(process.end(patient).exit_code, 3) << "ending twice is ending once";
}

TEST(ProcessEnd, WakesAStoppedProgramToEndIt) {
  Process process(shell("trap 'exit 4' TERM; echo \"pid $$\"; kill -STOP $$; exit 5"));
  read_until(process, "pid");
  EXPECT_THAT(process.end(patient).exit_code, testing::AnyOf(4, 5));
}

const std::string stubborn_grandchild =
    "import os, signal, sys, time\n"
    "def stubborn():\n"
    "  signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "  print('pid', os.getpid(), flush=True)\n"
    "  while True: time.sleep(100)\n"
    "if os.fork() == 0:\n"
    "  os.setsid()\n"
    "  if os.fork() == 0: stubborn()\n"
    "  os._exit(0)\n"  // the grandchild is an orphan in its own session
    "os.wait()\n";

TEST(ProcessEnd, ReachesAGrandchildThatLeftAndIgnoresSigterm) {
  Process process(python(stubborn_grandchild + "time.sleep(100)"));
  const auto pids = pids_in(read_until(process, "\n").out);
  ASSERT_EQ(pids.size(), 1u);
  ASSERT_TRUE(exists(pids[0]));
  const Ending ending = process.end(impatient);
  EXPECT_TRUE(ending.stopped_by_us);
  EXPECT_EQ(ending.signal, SIGTERM);
  EXPECT_FALSE(exists(pids[0]));
}

TEST(ProcessEnd, ReachesWhatAFinishedProgramLeftRunning) {
  Process process(python(stubborn_grandchild + "sys.exit(6)"));
  const auto pids = pids_in(read_until(process, "\n").out);
  ASSERT_EQ(pids.size(), 1u);
  read_until_ended(process);
  const Ending ending = process.end(impatient);
  EXPECT_FALSE(ending.stopped_by_us);
  EXPECT_EQ(ending.exit_code, 6);
  EXPECT_FALSE(exists(pids[0]));
}

TEST(ProcessEnd, ReachesFiftyChildrenThatFork) {
  Process process(
      python("import os, signal, time\n"
             "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
             "for i in range(25):\n"
             "  if os.fork() == 0:\n"
             "    os.setsid()\n"
             "    os.fork()\n"
             "    os.write(1, b'pid %d\\n' % os.getpid())\n"
             "    while True: time.sleep(100)\n"
             "while True: time.sleep(100)"));
  std::string output;
  while (pids_in(output + " ").size() < 50) output += read_until(process, "\n").out;
  EXPECT_EQ(process.end(at_once).signal, SIGKILL);
  for (const pid_t pid : pids_in(output)) EXPECT_FALSE(exists(pid));
  EXPECT_TRUE(own_children().empty());
}

TEST(ProcessEnd, LeavesNoZombieAndNoDescriptor) {
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    Launch launch = shell("sh -c 'exit 1' & echo done; wait");
    launch.terminal = i % 2 == 0;
    Process process(launch);
    read_until(process, "done");
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(own_children().empty());
}

TEST(ProcessEnd, NeitherKillsNorReapsTheChildrenOfOthers) {
  int gate[2];
  ASSERT_EQ(pipe2(gate, O_CLOEXEC), 0);
  const pid_t finished = fork();
  if (finished == 0) _exit(11);
  const pid_t running = fork();
  if (running == 0) {
    char byte = 0;
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) == 0 ? 12 : 13);
  }
  { Process process(shell("echo hello; sh -c 'exit 0' & exit 0")); }
  close(gate[0]);
  close(gate[1]);
  int status = 0;
  EXPECT_EQ(waitpid(finished, &status, 0), finished);
  EXPECT_EQ(WEXITSTATUS(status), 11);
  EXPECT_EQ(waitpid(running, &status, 0), running);
  EXPECT_EQ(WEXITSTATUS(status), 12) << "it was not killed";
}

// A FIFO's holders are dead when it has no more writers.
class Fifo {
 public:
  Fifo() {
    EXPECT_EQ(mkfifo(path().c_str(), 0600), 0);
    reader_ = open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~Fifo() { close(reader_); }
  std::string path() const { return folder_ / "fifo"; }
  std::string read_to_end() const {
    fcntl(reader_, F_SETFL, 0);
    std::string text;
    char buffer[64];
    for (ssize_t got = 0; (got = read(reader_, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    return text;
  }

 private:
  tests::TemporaryFolder folder_;
  int reader_ = -1;
};

TEST(ProcessEnd, TheTreeDiesWithUsEvenBySigkill) {
  const Fifo fifo;
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    Process process(python("import os\nos.dup2(os.open('" + fifo.path() + "', os.O_WRONLY), 2)\n" +
                           stubborn_grandchild + "time.sleep(100)"));
    read_until(process, "\n");
    [[maybe_unused]] const ssize_t told = write(ready[1], "!", 1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(supervisor, SIGKILL);
  waitpid(supervisor, nullptr, 0);
  EXPECT_EQ(fifo.read_to_end(), "");  // hangs while one of them lives
  close(ready[0]);
  close(ready[1]);
}

TEST(ProcessEnd, FindsTheTreeWithoutItsSupervisor) {
  Process process(python("import os\nprint('supervisor', os.getppid(), flush=True)\n" +
                         stubborn_grandchild + "time.sleep(100)"));
  std::string output;
  while (pids_in(output).empty() || output.back() != '\n') output += read_until(process, "\n").out;
  kill(pids_in(output, "supervisor").at(0), SIGKILL);
  const Ending ending = process.end(impatient);
  EXPECT_EQ(ending.signal, SIGKILL);
  EXPECT_FALSE(runs(pids_in(output).at(0)));  // init reaps it
  EXPECT_TRUE(own_children().empty());
}

}  // namespace
}  // namespace sweetspot::workload::command::process
