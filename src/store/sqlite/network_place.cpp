#include "store/sqlite/network_place.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::store::sqlite {
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

}  // namespace

std::optional<std::string_view> network_file_system(unsigned long type) {
  for (const NetworkKind& kind : network_kinds)
    if (kind.type == type) return kind.name;
  return std::nullopt;
}

void check_local(const std::filesystem::path& file) {
  struct statfs found {};
  if (::statfs(std::filesystem::absolute(file).parent_path().c_str(), &found) != 0) return;
  // The number is signed in the kernel's structure, and 32 bits wide.
  const auto name = network_file_system(static_cast<unsigned long>(found.f_type) & 0xFFFFFFFF);
  if (!name) return;
  throw core::InputError(fmt::format(
      "{} is on a network file system ({}), where SQLite's files come to harm; pass --db with a "
      "file on a disk of this machine, or --db postgresql://HOST/DATABASE for several machines",
      core::printable(file.string()), *name));
}

}  // namespace sweetspot::store::sqlite
