#include "workload/command/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"

namespace sweetspot::workload::command {
namespace {

namespace fs = std::filesystem;
using process::Descriptor;

using Use = PrivateFolder::Use;

constexpr std::string_view letters = "XXXXXX", socket_file = "socket";
constexpr int most_attempts = 8;

std::string prefix(Use use) { return use == Use::socket ? "sweetspot." : "sweetspot-trial."; }

// The folder at this path, held; no number when another holds it or it is not there.
Descriptor held(const fs::path& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder || ::flock(folder.number(), LOCK_EX | LOCK_NB) != 0) return Descriptor();
  return folder;
}

bool is_at(const Descriptor& folder, const fs::path& path) {
  struct stat mine {
  }, there{};
  return ::fstat(folder.number(), &mine) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

bool is_ours(const Descriptor& folder) {
  struct stat found {};
  return ::fstat(folder.number(), &found) == 0 && found.st_uid == ::geteuid() &&
         (found.st_mode & 07777) == 0700;
}

// With folders in it that a program closed to itself, or that the kernel did: overlayfs leaves one
// of mode 0.
void remove_thoroughly(const fs::path& path) {
  std::error_code failed, ignored;
  fs::remove_all(path, failed);
  if (!failed) return;
  constexpr auto options = fs::directory_options::skip_permission_denied;
  const auto open_up = [&ignored](const fs::path& folder) {
    fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, ignored);
  };
  open_up(path);
  for (auto entry = fs::recursive_directory_iterator(path, options, failed);
       entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) open_up(entry->path());
    if (failed) break;
  }
  fs::remove_all(path, ignored);
}

// What a process left that could not tidy up. Of a socket's folder only the socket is taken out:
// with anything else inside it is none of ours, and stays.
void remove_abandoned(const fs::path& parent, Use use) {
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(parent, ignored); entry != fs::directory_iterator();
       entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(prefix(use)) || name.size() != prefix(use).size() + letters.size())
      continue;
    const Descriptor folder = held(entry->path());
    if (!folder || !is_ours(folder)) continue;
    if (use == Use::trial) {
      remove_thoroughly(entry->path());
      continue;
    }
    const fs::path socket = entry->path() / socket_file;
    if (fs::is_socket(fs::symlink_status(socket, ignored))) fs::remove(socket, ignored);
    ::rmdir(entry->path().c_str());
  }
}

}  // namespace

PrivateFolder::PrivateFolder(Use use) {
  std::vector<const char*> parents{std::getenv("TMPDIR"), "/tmp"};
  // In memory as a rule, where a socket belongs and a checkpoint does not.
  if (use == Use::socket)
    parents.insert(parents.begin(), std::getenv("XDG_RUNTIME_DIR"));
  else
    parents.push_back("/var/tmp");
  for (const char* parent : parents) {
    if (parent == nullptr || parent[0] != '/') continue;
    std::string pattern = fs::path(parent) / (prefix(use) + std::string(letters));
    if (use == Use::socket &&
        pattern.size() + 1 + socket_file.size() >= sizeof(sockaddr_un::sun_path))
      continue;
    remove_abandoned(parent, use);
    const std::string unused = pattern;
    // Between its making and its locking another process may take it for an abandoned one.
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      pattern = unused;
      if (::mkdtemp(pattern.data()) == nullptr) break;  // it makes it 0700
      path_ = pattern;
      lock_ = held(path_);
      if (lock_ && is_at(lock_, path_)) return;
      ::rmdir(path_.c_str());
    }
  }
  throw core::MachineError(
      use == Use::socket
          ? "no directory for the client's socket can be made; set TMPDIR to a short path that can "
            "be written"
          : "no folder for a trial's files can be made; set TMPDIR to one that can be written");
}

PrivateFolder::~PrivateFolder() { remove_thoroughly(path_); }

}  // namespace sweetspot::workload::command
