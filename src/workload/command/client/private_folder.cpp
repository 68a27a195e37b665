#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.h"
#include "workload/command/client/server.h"

namespace sweetspot::workload::command::client {
namespace {

namespace fs = std::filesystem;
using process::Descriptor;

constexpr std::string_view prefix = "sweetspot.", letters = "XXXXXX", file = "socket";
constexpr int most_attempts = 8;

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

// What a process left that could not tidy up. Only a socket is taken out of it: with anything else
// inside it is none of ours, and stays.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(parent, ignored); entry != fs::directory_iterator();
       entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + letters.size()) continue;
    const Descriptor folder = held(entry->path());
    if (!folder || !is_ours(folder)) continue;
    const fs::path socket = entry->path() / file;
    if (fs::is_socket(fs::symlink_status(socket, ignored))) fs::remove(socket, ignored);
    ::rmdir(entry->path().c_str());
  }
}

}  // namespace

PrivateFolder::PrivateFolder() {
  const char* const parents[] = {std::getenv("XDG_RUNTIME_DIR"), std::getenv("TMPDIR"), "/tmp"};
  for (const char* parent : parents) {
    if (parent == nullptr || parent[0] != '/') continue;
    std::string pattern = fs::path(parent) / (std::string(prefix) + std::string(letters));
    if (pattern.size() + 1 + file.size() >= sizeof(sockaddr_un::sun_path)) continue;
    remove_abandoned(parent);
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
      "no directory for the client's socket can be made; set TMPDIR to a short path that can be "
      "written");
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string PrivateFolder::socket_path() const { return path_ / file; }

}  // namespace sweetspot::workload::command::client
