// What a trial gets and leaves behind: filled copies, and the scratch folder.
#include "workload/command/workspace.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>

#include "core/error.h"
#include "temporary_folder.h"
#include "workload/command/config_files.h"
#include "workload/command/process_support.h"

namespace sweetspot::workload::command {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Every file of a folder with its text.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      found[entry.path().lexically_relative(folder)] = read(entry.path());
  return found;
}

trial::Setting at(std::int64_t batch) {
  trial::Setting setting;
  setting.batch = batch;
  return setting;
}

// A program's folder; trials keep their files in another one.
struct WorkspaceTest : testing::Test {
  tests::TemporaryFolder project, rooms;
  std::string old_tmpdir = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";

  WorkspaceTest() { setenv("TMPDIR", rooms.path().c_str(), 1); }
  ~WorkspaceTest() override {
    old_tmpdir.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", old_tmpdir.c_str(), 1);
  }

  Options options() {
    Options made;
    made.argv = {"sh", "-c", "true", "{batch}"};
    made.folder = project.path();
    return made;
  }

  std::string run(const Workspace& workspace, const std::string& script) {
    process::Launch launch = process::shell(script);
    workspace.furnish(launch);
    process::Process process(launch);
    const process::Output output = process::read_all(process);
    EXPECT_EQ(process.end(core::Seconds(0)).exit_code, 0) << output.err;
    return output.out;
  }
};

TEST_F(WorkspaceTest, FillsACopyAndTakesItAway) {
  write(project / "train.cfg", "batch = {batch}\nname = run-{other}\n");
  Options o = options();
  o.templates = {read_template((project / "train.cfg").string())};
  {
    const Workspace workspace(o, at(48));
    ASSERT_EQ(workspace.configs().size(), 2u);
    EXPECT_EQ(workspace.configs()[0].name, "{config}");
    EXPECT_EQ(workspace.configs()[1].name, "{config:train.cfg}");
    EXPECT_EQ(read(workspace.configs()[0].value), "batch = 48\nname = run-{other}\n");
    EXPECT_EQ(run(workspace, "pwd"), fs::canonical(project.path()).string() + "\n");
  }
  EXPECT_TRUE(fs::is_empty(rooms.path()));
  EXPECT_THAT(contents(project.path()),
              ElementsAre(Pair("train.cfg", "batch = {batch}\nname = run-{other}\n")));
}

TEST_F(WorkspaceTest, WritesACopyWhereTheProgramLooksForItAndNeverOverAFile) {
  write(project / "in.yaml", "batch: {batch}\n");
  Options o = options();
  o.templates = {read_template((project / "in.yaml").string() + ":out.yaml")};
  {
    const Workspace workspace(o, at(8));
    EXPECT_EQ(run(workspace, "cat out.yaml"), "batch: 8\n");
    EXPECT_THROW(Workspace(o, at(16)), core::InputError) << "another has it";
    EXPECT_EQ(read(project / "out.yaml"), "batch: 8\n");
  }
  EXPECT_FALSE(fs::exists(project / "out.yaml"));
}

struct ScratchTest : WorkspaceTest {
  Options o = options();
  ScratchTest() {
    o.scratch = true;
    write(project / "train.py", "x");
    write(project / "data/one", "1");
    write(project / "sub/config.yaml", "batch: 16 # here\n");
    fs::create_symlink("one", project / "data/link");
  }
  const std::string mischief =
      "echo new > new; rm train.py; echo 2 >> data/one; mkdir -p ckpt/a; echo w > ckpt/a/last; "
      "chmod 500 ckpt/a; ";
  std::map<std::string, std::string> before() { return contents(project.path()); }
};

TEST_F(ScratchTest, KeepsWhatATrialWritesFromTheFolder) {
  if (!Scratch::can_overlay(project.path())) GTEST_SKIP() << "no overlay is allowed here";
  const auto untouched = before();
  {
    const Workspace workspace(o, at(8));
    const std::string here = fs::canonical(project.path());
    EXPECT_EQ(run(workspace, mischief + "cat data/one; cat " + here + "/new; pwd"),
              "1"
              "2\nnew\n" +
                  here + "\n");
    EXPECT_EQ(run(workspace, "ls; cat ckpt/a/last"), "ckpt\ndata\nnew\nsub\nw\n")
        << "the hooks of a trial see what it wrote";
    EXPECT_EQ(contents(project.path()), untouched);
  }
  EXPECT_EQ(contents(project.path()), untouched);
  EXPECT_TRUE(fs::is_empty(rooms.path()));
  const Workspace next(o, at(16));
  EXPECT_EQ(run(next, "ls"), "data\nsub\ntrain.py\n") << "each trial begins anew";
}

TEST_F(ScratchTest, ATemplateMayCoverItsOwnFile) {
  o.templates = {
      {.file = "sub/config.yaml", .copy = "sub/config.yaml", .text = "batch: 16 # here\n"}};
  o.edits = {{"batch", "{batch}"}};
  EXPECT_NO_THROW(check_templates(o));
  const Workspace workspace(o, at(8));
  EXPECT_EQ(run(workspace, "cat sub/config.yaml; ls sub data"),
            "batch: 8 # here\ndata:\nlink\none\n\nsub:\nconfig.yaml\n");
  EXPECT_EQ(read(project / "sub/config.yaml"), "batch: 16 # here\n");
}

// Runs it in a child process, whose failures are ours.
template <class Body>
void in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// As containers do.
void forbid_namespaces() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST_F(ScratchTest, CopiesWhereNoOverlayIsAllowed) {
  const auto untouched = before();
  in_child([&] {
    forbid_namespaces();
    EXPECT_FALSE(Scratch::can_overlay(project.path()));
    const Workspace workspace(o, at(8));
    EXPECT_EQ(run(workspace, mischief + "cat data/link new; test \"$PWD\" = \"$(pwd -P)\""),
              "12\nnew\n");
  });
  EXPECT_EQ(contents(project.path()), untouched);
  EXPECT_TRUE(fs::is_empty(rooms.path()));
}

TEST_F(ScratchTest, ATemplateNeverWritesThroughALinkOfTheFolder) {
  tests::TemporaryFolder shared;
  write(shared / "mine.yaml", "batch: 32\n");
  fs::create_symlink(shared / "mine.yaml", project / "config.yaml");
  o.templates = {{.file = "sub/config.yaml", .copy = "config.yaml", .text = "batch: {batch}\n"}};
  EXPECT_NO_THROW(check_templates(o));
  for (const bool copied : {false, true})
    in_child([&] {
      if (copied) forbid_namespaces();
      const Workspace workspace(o, at(8));
      EXPECT_EQ(run(workspace, "cat config.yaml"), "batch: 8\n");
    });
  EXPECT_EQ(read(shared / "mine.yaml"), "batch: 32\n");
}

TEST_F(ScratchTest, ATemplateWhosePlaceIsOutsideIsRefusedBeforeAnythingRuns) {
  tests::TemporaryFolder shared;
  fs::create_directory_symlink(shared.path(), project / "conf");
  fs::create_directory_symlink("sub", project / "within");
  const auto with_copy = [&](const fs::path& copy) {
    o.templates = {{.file = "sub/config.yaml", .copy = copy, .text = "batch: {batch}\n"}};
  };
  for (const fs::path copy : {"../config.yaml", "conf/config.yaml", "sub/../../config.yaml"}) {
    with_copy(copy);
    EXPECT_THROW(check_templates(o), core::InputError) << copy;
    EXPECT_THROW(Workspace(o, at(8)), core::InputError) << copy;
  }
  EXPECT_TRUE(fs::is_empty(shared.path()));
  with_copy(project / "train.py");
  EXPECT_THROW(check_templates(o), core::InputError) << "it would not be covered, but written";
  with_copy("within/config.yaml");
  EXPECT_NO_THROW(check_templates(o));
  EXPECT_EQ(run(Workspace(o, at(8)), "cat sub/config.yaml"), "batch: 8\n");
}

TEST_F(ScratchTest, CopiesWhatGitListsWhereThereIsGit) {
  write(project / ".gitignore", "data\n");
  process::Launch git =
      process::shell("git init -q . && touch gone && git add train.py gone && rm gone");
  git.folder = project.path();
  process::Process made(git);
  process::read_all(made);
  ASSERT_EQ(made.end(core::Seconds(0)).exit_code, 0) << "git is needed";
  in_child([&] {
    forbid_namespaces();
    const Workspace workspace(o, at(8));
    EXPECT_EQ(run(workspace, "find . -type f | sort"),
              "./.gitignore\n./sub/config.yaml\n./train.py\n");
  });
}

TEST_F(ScratchTest, RefusesToCopyTooMuch) {
  std::ofstream(project / "large.bin") << 'x';
  fs::resize_file(project / "large.bin", std::uintmax_t{2} << 30);  // sparse
  in_child([&] {
    forbid_namespaces();
    try {
      const Workspace workspace(o, at(8));
      ADD_FAILURE() << "it was copied";
    } catch (const core::InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("more than 1.0 GiB"));
      EXPECT_THAT(error.what(), HasSubstr("--cwd"));
    }
  });
  EXPECT_TRUE(fs::is_empty(rooms.path()));
}

TEST_F(ScratchTest, NothingIsLeftWhenWeAreKilled) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // the supervisor is reparented to us
  o.templates = {{.file = "x.cfg", .copy = project / "out.cfg", .text = "{batch}"}};
  const auto untouched = before();
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    const Workspace workspace(o, at(8));
    process::Launch launch = process::shell(mischief + "echo ready; exec sleep 1000");
    workspace.furnish(launch);
    process::Process process(launch);
    process::read_until(process, "ready");
    [[maybe_unused]] const ssize_t told = ::write(ready[1], "!", 1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(fs::exists(project / "out.cfg"));
  EXPECT_FALSE(fs::is_empty(rooms.path()));
  kill(supervisor, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {  // until the supervisor has ended too
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_TRUE(fs::is_empty(rooms.path()));
  EXPECT_EQ(contents(project.path()), untouched);
}

TEST_F(ScratchTest, WhatAKilledOneLeftIsRemovedByTheNext) {
  const fs::path left = rooms / "sweetspot-trial.abcdef";
  write(left / "scratch/work/work/x", "x");
  ASSERT_EQ(chmod(left.c_str(), 0700), 0);
  write(rooms / "sweetspot-trial.notours/x", "x");  // another name
  const Workspace workspace(o, at(8));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(rooms / "sweetspot-trial.notours/x"));
}

TEST_F(ScratchTest, WorksForAnUnprivilegedUser) {
  if (geteuid() != 0) GTEST_SKIP() << "the other tests are of one";
  for (const fs::path& folder : {project.path(), rooms.path()})
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      ASSERT_EQ(lchown(entry.path().c_str(), 65534, 65534), 0);
  ASSERT_EQ(chown(project.path().c_str(), 65534, 65534) | chown(rooms.path().c_str(), 65534, 65534),
            0);
  const auto untouched = before();
  in_child([&] {
    ASSERT_EQ(setgid(65534) | setuid(65534), 0);
    const Workspace workspace(o, at(8));
    run(workspace, mischief + "test -e new && test $(id -u) = 65534");
  });
  EXPECT_EQ(contents(project.path()), untouched);
  EXPECT_TRUE(fs::is_empty(rooms.path()));
}

}  // namespace
}  // namespace sweetspot::workload::command
