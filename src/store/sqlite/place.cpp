#include "store/sqlite/place.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <atomic>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/text.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;

// SQLite's own file system in memory, for several connections: a database ends with its last one.
constexpr const char* in_memory_vfs = "memdb";

struct KeptInMemory {
  core::Descriptor locks;
  SQLite::Database first;
};

}  // namespace

// An absolute path is never one of SQLite's special names, and survives a change of directory.
Place::Place(fs::path path)
    : shown(core::printable(path.string())),
      file(std::move(path)),
      locks(file.string() + "-lock"),
      name(fs::absolute(file).string()) {}

Place Place::in_memory() {
  static std::atomic<int> count = 0;
  Place place;
  place.shown = "the store in memory";
  place.name = fmt::format("/sweetspot-{}", ++count);
  place.vfs = in_memory_vfs;
  core::Descriptor locks(memfd_create("sweetspot-lock", MFD_CLOEXEC));
  place.locks = fmt::format("/proc/self/fd/{}", locks.number());
  place.kept = std::make_shared<KeptInMemory>(
      std::move(locks),
      SQLite::Database(place.name, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 0, place.vfs));
  return place;
}

Identity identity_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return {{status.st_dev, status.st_ino}};
}

namespace {

struct NetworkKind {
  unsigned long type;
  std::string_view name;
};
// From statfs(2), linux/magic.h and the file systems' own sources.
constexpr NetworkKind network_kinds[] = {
    {0x6969, "NFS"},         {0xFF534D42, "SMB"},    {0xFE534D42, "SMB"},   {0x517B, "SMB"},
    {0x5346414F, "AFS"},     {0x73757245, "Coda"},   {0x00C36400, "Ceph"},  {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},    {0x19830326, "BeeGFS"}, {0x7461636F, "OCFS2"}, {0x01161970, "GFS2"},
    {0x20030528, "OrangeFS"}};

// Network file systems do not keep locks and shared memory, which SQLite's log needs, consistent
// between machines, and a database is silently corrupted.
void check_local(const Place& place, const fs::path& folder) {
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) != 0) return;
  // The number is signed in the kernel's structure, and 32 bits wide.
  const auto name = network_file_system(static_cast<unsigned long>(found.f_type) & 0xFFFFFFFF);
  if (!name) return;
  throw core::InputError(fmt::format(
      "{} is on a network file system ({}), where SQLite's files come to harm; pass --db with a "
      "file on a disk of this machine, or --db postgresql://HOST/DATABASE for several machines",
      place.shown, *name));
}

}  // namespace

std::optional<std::string_view> network_file_system(unsigned long type) {
  for (const NetworkKind& kind : network_kinds)
    if (kind.type == type) return kind.name;
  return std::nullopt;
}

void check(const Place& place) {
  if (place.file.empty()) return;
  std::error_code ignored;
  if (fs::is_directory(place.file, ignored))
    throw core::InputError(fmt::format("{} is a folder; pass --db {}", place.shown,
                                       core::printable((place.file / "sweetspot.db").string())));
  const fs::path folder = fs::absolute(place.file).parent_path();
  if (!fs::is_directory(folder, ignored))
    throw core::InputError(
        fmt::format("the folder {} of the database does not exist; make it, or "
                    "pass --db other.db",
                    core::printable(folder.string())));
  check_local(place, folder);
}

}  // namespace sweetspot::store::sqlite
