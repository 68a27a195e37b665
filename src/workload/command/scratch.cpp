#include "workload/command/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/process/overlay_mount.h"

namespace sweetspot::workload::command {
namespace {

namespace fs = std::filesystem;
using process::Descriptor;

using Use = PrivateFolder::Use;

constexpr std::string_view letters = "XXXXXX", socket_file = "socket";
constexpr int most_attempts = 8;

std::string prefix(Use use) { return use == Use::socket ? "sweetspot." : "sweetspot-trial."; }

// The folder at this path, locked; an invalid descriptor if another process holds it or it does not
// exist.
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

// Including folders made inaccessible by a program or by the kernel: overlayfs leaves one of mode
// 0.
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

// Leftovers of a process that could not clean up. Of a socket's folder only the socket is removed:
// with anything else inside it is not ours, and stays.
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
  // Usually in memory, where a socket belongs and a checkpoint does not.
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
    // Between creation and locking another process may take it for an abandoned one.
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      pattern = unused;
      if (::mkdtemp(pattern.data()) == nullptr) break;  // with mode 0700
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

namespace {

constexpr core::Bytes most_to_copy = core::GiB;  // before each trial

void put(const fs::path& folder, const fs::path& model, const std::vector<Scratch::File>& files) {
  for (const Scratch::File& file : files) {
    fs::path parent;
    for (const fs::path& part : file.name.parent_path()) {
      parent /= part;
      std::error_code ignored;
      if (fs::create_directory(folder / parent, ignored))
        fs::permissions(folder / parent, fs::status(model / parent, ignored).permissions(),
                        ignored);
    }
    std::error_code none;
    fs::remove(folder / file.name, none);  // a link there leads to a user's file
    std::ofstream out(folder / file.name, std::ios::binary | std::ios::trunc);
    out << file.text;
    out.close();
    if (!out)
      throw core::MachineError(fmt::format("{} cannot be written; see that the disk is not full",
                                           core::printable((folder / file.name).string())));
  }
}

// The files that git lists in the folder, and new ones that it does not ignore; nullopt without
// git.
std::optional<std::vector<fs::path>> git_files(const fs::path& folder) {
  process::Launch launch;
  launch.argv = {"git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"};
  launch.folder = folder;
  std::string list;
  try {
    process::Process git(launch);
    bool ended = false;
    while (true) {
      const auto chunks = git.take();
      for (const process::Chunk& chunk : chunks)
        if (!chunk.error_stream) list += chunk.bytes;
      if (ended && chunks.empty()) break;
      ended = git.ended();
      if (ended) continue;
      process::wait_for_input(git.descriptors(), 0.1);
    }
    if (git.end(core::Seconds(0)).exit_code != 0) return std::nullopt;
  } catch (const core::InputError&) {
    return std::nullopt;
  }
  std::vector<fs::path> files;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find('\0', at), list.size());
    files.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  return files;
}

std::vector<fs::path> all_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    files.push_back(entry->path().lexically_relative(folder));
  return files;
}

fs::path existing(const fs::path& folder) {
  std::error_code error;
  const fs::path found = fs::canonical(folder, error);
  if (error || !fs::is_directory(found, error))
    throw core::InputError(fmt::format("--scratch needs the folder {}, which is not there; make it",
                                       core::printable(folder.string())));
  return found;
}

class Copying {
 public:
  Copying(fs::path from, fs::path to) : from_(std::move(from)), to_(std::move(to)) {}

  void copy(const fs::path& name) {
    const fs::path source = from_ / name, target = to_ / name;
    const fs::file_status status = fs::symlink_status(source);
    fs::create_directories(target.parent_path());
    if (fs::is_symlink(status)) {
      fs::copy_symlink(source, target);
    } else if (fs::is_directory(status)) {
      fs::create_directories(target);
      fs::permissions(target, status.permissions() | fs::perms::owner_all);
    } else if (fs::is_regular_file(status)) {
      bytes_ += static_cast<core::Bytes>(fs::file_size(source));
      if (bytes_ > most_to_copy)
        throw core::InputError(
            fmt::format("--scratch would copy more than {} of {} before each trial, since this "
                        "system allows no "
                        "overlay; leave it out, or name a smaller folder with --cwd",
                        core::format_bytes(most_to_copy), core::printable(from_.string())));
      fs::copy_file(source, target);
      fs::last_write_time(target, fs::last_write_time(source));  // make uses it
    }  // missing files that git lists, sockets and the like are skipped
  }

 private:
  fs::path from_, to_;
  core::Bytes bytes_ = 0;
};

}  // namespace

Scratch::Scratch(const fs::path& folder, const fs::path& room, const std::vector<File>& files)
    : folder_(existing(folder)) {
  std::vector<File> placed = files;
  for (File& file : placed) file.name = place_in(folder_, file.name);
  if (!overlay(room, placed)) copy(room, placed);
}

fs::path Scratch::place_in(const fs::path& folder, const fs::path& name) {
  const fs::path whole = existing(folder);
  std::error_code ignored;
  const fs::path parent = fs::weakly_canonical(whole / name.parent_path(), ignored);
  const fs::path place = (parent / name.filename()).lexically_relative(whole);
  if (place.empty() || *place.begin() == "..")
    throw core::InputError(
        fmt::format("--scratch keeps what is in {}, and {} leads out of it; name a copy in it",
                    core::printable(whole.string()), core::printable(name.string())));
  return place;
}

bool Scratch::overlay(const fs::path& room, const std::vector<File>& files) {
  const fs::path upper = room / "changes", work = room / "work";
  fs::create_directory(upper);
  fs::create_directory(work);
  std::error_code ignored;
  fs::permissions(upper, fs::status(folder_).permissions(), ignored);
  put(upper, folder_, files);
  auto made = process::make_overlay(folder_, upper, work);
  if (!made) return false;
  user_namespace_ = std::move(made->user_namespace);
  mount_namespace_ = std::move(made->mount_namespace);
  return true;
}

void Scratch::copy(const fs::path& room, const std::vector<File>& files) {
  const fs::path target = room / folder_.filename();
  const auto listed = git_files(folder_);
  kind_ = listed ? Kind::git_copy : Kind::copy;
  try {
    fs::create_directory(target);
    Copying copying(folder_, target);
    const fs::path own = room.lexically_relative(folder_);  // if TMPDIR is in the folder
    for (const fs::path& name : listed ? *listed : all_files(folder_))
      if (!name.string().starts_with(own.string())) copying.copy(name);
  } catch (const fs::filesystem_error& error) {
    throw core::MachineError(
        fmt::format("--scratch cannot copy {}: {}; leave it out, or set TMPDIR to a disk with room",
                    core::printable(error.path1().string()), error.code().message()));
  }
  put(target, folder_, files);
  folder_ = target;
}

void Scratch::furnish(process::Launch& launch) const {
  launch.folder = folder_;
  launch.user_namespace = user_namespace_.number();
  launch.mount_namespace = mount_namespace_.number();
  launch.environment.emplace_back("PWD", folder_.string());
}

bool Scratch::can_overlay(const fs::path& folder) {
  const PrivateFolder room(PrivateFolder::Use::trial);
  fs::create_directory(room.path() / "changes");
  fs::create_directory(room.path() / "work");
  return process::make_overlay(existing(folder), room.path() / "changes", room.path() / "work")
      .has_value();
}

}  // namespace sweetspot::workload::command
