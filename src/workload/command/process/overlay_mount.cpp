#include "workload/command/process/overlay_mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <vector>

namespace sweetspot::workload::command::process {
namespace {

namespace fs = std::filesystem;

// Escapes what the kernel splits at commas and colons.
std::string escaped(const fs::path& path) {
  std::string text;
  for (const char c : path.string())
    text += (c == ',' || c == ':' || c == '\\' ? "\\" : "") + std::string(1, c);
  return text;
}

// mountinfo writes blanks and the like as \040.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Mounts inside the folder, without nested ones: an overlay would hide them.
std::vector<std::string> mounts_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::ifstream list("/proc/self/mountinfo");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    const std::string place = unescaped(word);
    if (!place.starts_with(folder.string() + "/")) continue;
    bool inside = false;
    for (const std::string& other : found) inside = inside || place.starts_with(other + "/");
    if (!inside) found.push_back(place);
  }
  return found;
}

// Everything that is needed after the fork, prepared before it: see supervisor.h.
struct Plan {
  std::string folder, options, options_in_user_namespace, uid_map, gid_map;
  std::vector<std::string> mounts;
  std::vector<int> held;  // of the mounts
};

struct Answer {
  int error = 0;
  bool has_user_namespace = false;
};

bool write_text(const char* path, const char* text, std::size_t size) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text, size) == static_cast<ssize_t>(size);
  close(file);
  return written;
}

bool enter_namespaces(const Plan& plan, Answer& answer) {
  if (unshare(CLONE_NEWNS) == 0) return true;
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  answer.has_user_namespace = true;
  write_text("/proc/self/setgroups", "deny", 4);
  return write_text("/proc/self/uid_map", plan.uid_map.data(), plan.uid_map.size()) &&
         write_text("/proc/self/gid_map", plan.gid_map.data(), plan.gid_map.size());
}

bool mount_overlay(Plan& plan, Answer& answer) {
  if (!enter_namespaces(plan, answer)) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  for (std::size_t i = 0; i < plan.mounts.size(); ++i) {
    plan.held[i] = open_tree(AT_FDCWD, plan.mounts[i].c_str(),
                             OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (plan.held[i] < 0) return false;
  }
  const std::string& options =
      answer.has_user_namespace ? plan.options_in_user_namespace : plan.options;
  if (mount("overlay", plan.folder.c_str(), "overlay", 0, options.c_str()) != 0) return false;
  for (std::size_t i = 0; i < plan.mounts.size(); ++i)
    if (move_mount(plan.held[i], "", AT_FDCWD, plan.mounts[i].c_str(), MOVE_MOUNT_F_EMPTY_PATH) !=
        0)
      return false;
  // A process that enters the namespace begins at its root, which differs from ours in a chroot.
  struct stat before {
  }, after{};
  const int here = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  errno = EXDEV;
  return here >= 0 && stat(plan.folder.c_str(), &before) == 0 && setns(here, CLONE_NEWNS) == 0 &&
         stat(plan.folder.c_str(), &after) == 0 && before.st_dev == after.st_dev &&
         before.st_ino == after.st_ino;
}

[[noreturn]] void mount_and_wait(Plan& plan, int answers, int release) {
  Answer answer;
  if (!mount_overlay(plan, answer)) answer.error = errno ? errno : EPERM;
  [[maybe_unused]] const ssize_t told = write(answers, &answer, sizeof answer);
  char byte = 0;
  while (read(release, &byte, 1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

}  // namespace

std::optional<Overlay> make_overlay(const fs::path& folder, const fs::path& upper,
                                    const fs::path& work) {
  Plan plan;
  plan.folder = folder;
  plan.options = fmt::format("lowerdir={},upperdir={},workdir={}", escaped(folder), escaped(upper),
                             escaped(work));
  plan.options_in_user_namespace = plan.options + ",userxattr";
  plan.uid_map = fmt::format("{0} {0} 1", geteuid());
  plan.gid_map = fmt::format("{0} {0} 1", getegid());
  plan.mounts = mounts_in(folder);
  plan.held.resize(plan.mounts.size(), -1);

  Pair answers = make_pipe(), release = make_pipe();
  const pid_t pid = ::fork();
  if (pid < 0) return std::nullopt;
  if (pid == 0) {
    close(release.write.number());
    mount_and_wait(plan, answers.write.number(), release.read.number());
  }
  answers.write.close();
  Answer answer;
  ssize_t got = 0;
  do got = read(answers.read.number(), &answer, sizeof answer);
  while (got < 0 && errno == EINTR);
  std::optional<Overlay> made;
  if (got == sizeof answer && answer.error == 0) {
    const auto hold = [pid](const char* kind) {
      return Descriptor(
          open(fmt::format("/proc/{}/ns/{}", pid, kind).c_str(), O_RDONLY | O_CLOEXEC));
    };
    made.emplace();
    made->mount_namespace = hold("mnt");
    if (answer.has_user_namespace) made->user_namespace = hold("user");
    if (!made->mount_namespace || (answer.has_user_namespace && !made->user_namespace))
      made.reset();
  }
  release.write.close();
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return made;
}

}  // namespace sweetspot::workload::command::process
