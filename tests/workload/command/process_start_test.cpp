// How a program starts, and its initial environment.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/error.h"
#include "temporary_folder.h"
#include "words.h"
#include "workload/command/process_support.h"

namespace sweetspot::workload::command::process {
namespace {

using testing::HasSubstr;

std::string refusal(const Launch& launch) {
  try {
    Process process(launch);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "it ran";
}

TEST(ProcessStart, RefusesWhatCannotBeRun) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder / "plain") << "echo hello\n";
  std::ofstream(folder / "bare") << "echo hello\n";
  chmod((folder / "bare").c_str(), 0755);
  EXPECT_WORDS(refusal({.argv = {"no-such-program"}}));
  EXPECT_WORDS(refusal({.argv = {"./no-such-program"}}));
  EXPECT_WORDS(refusal({.argv = {(folder / "plain").string()}}));
  EXPECT_WORDS(refusal({.argv = {(folder / "bare").string()}}));
  EXPECT_WORDS(refusal({.argv = {"sh"}, .folder = folder / "missing"}));
  EXPECT_WORDS(refusal({}));
  EXPECT_THAT(refusal({.argv = {"no-such\033program"}}), testing::Not(HasSubstr("\033")));
}

TEST(ProcessStart, ARefusalLeavesNothingBehind) {
  const std::size_t before = open_descriptors();
  EXPECT_NE(refusal({.argv = {"no-such-program"}}), "it ran");
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(own_children().empty());
}

TEST(ProcessStart, GivesArgumentsEnvironmentAndFolder) {
  const tests::TemporaryFolder folder;
  Launch launch = shell("printf '%s|' \"$1\" \"$ADDED\" \"$HOME\"; pwd -P");
  launch.argv.insert(launch.argv.end(), {"name", "$HOME * ;"});
  launch.environment = {{"ADDED", "a=b c"}, {"HOME", "changed"}};
  launch.folder = folder.path();
  Process process(launch);
  EXPECT_EQ(read_all(process).out,
            "$HOME * ;|a=b c|changed|" + std::filesystem::canonical(folder.path()).string() + "\n");
}

TEST(ProcessStart, FindsTheProgramOnThePathItIsGiven) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder / "mine") << "#!/bin/sh\necho found\n";
  chmod((folder / "mine").c_str(), 0755);
  Process by_path({.argv = {"mine"},
                   .environment = {{"PATH", "/nowhere:" + folder.path().string() + ":/bin"}}});
  EXPECT_EQ(read_all(by_path).out, "found\n");
  Process by_folder({.argv = {"./mine"}, .folder = folder.path()});
  EXPECT_EQ(read_all(by_folder).out, "found\n");
}

TEST(ProcessStart, PipesAreNoTerminalAndTheTwoStreamsStayApart) {
  Process process(
      python("import sys\n"
             "print(sys.stdin.isatty(), sys.stdout.isatty(), repr(sys.stdin.read()))\n"
             "print(sys.stderr.isatty(), file=sys.stderr)"));
  const Output output = read_all(process);
  EXPECT_EQ(output.out, "False False ''\n");
  EXPECT_EQ(output.err, "False\n");
}

TEST(ProcessStart, ATerminalIsOneRawAndWide) {
  Launch launch = python(
      "import os, sys\n"
      "print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty())\n"
      "print(*os.get_terminal_size(2))\n"
      "print('error', file=sys.stderr)\n"
      "try: open('/dev/tty'); print('can be asked for a password')\n"
      "except OSError: print('nobody to ask')");
  launch.terminal = true;
  Process process(launch);
  EXPECT_EQ(read_all(process).out, "False True True\n200 24\nerror\nnobody to ask\n");
}

TEST(ProcessStart, InheritsNeitherDescriptorsNorSignalSettings) {
  const int leaky = open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as careless libraries do
  const auto old = signal(SIGUSR2, SIG_IGN);
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  Process process(
      shell("ls /proc/self/fd | tr '\\n' ' '; grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  signal(SIGUSR2, old);
  close(leaky);
  const std::string out = read_all(process).out;
  const std::string expected = "0 1 2 3 SigBlk:\t0000000000000000\nSigIgn:\t";  // 3 is ls's own
  ASSERT_EQ(out.substr(0, expected.size()), expected);
  // The C library reserves signals 32 and 33, ignored or not as inherited.
  constexpr unsigned long long reserved = 0x180000000;
  EXPECT_EQ(std::stoull(out.substr(expected.size()), nullptr, 16) & ~reserved, 0u);
}

TEST(ProcessStart, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<Process> process;
  std::thread([&] {
    process = std::make_unique<Process>(shell("echo ready; exec cat /dev/zero > /dev/null"));
  }).join();
  read_until(*process, "ready");
  EXPECT_FALSE(process->ended());
  EXPECT_EQ(process->end(core::Seconds(0)).signal, SIGKILL);
}

}  // namespace
}  // namespace sweetspot::workload::command::process
