#include "data/delivery.h"

#include <fmt/format.h>

#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "data/files.h"
#include "data/unpack.h"

namespace sweetspot::data {
namespace fs = std::filesystem;

void fail_writing(const fs::path& path, const std::string& reason) {
  throw core::MachineError(fmt::format(
      "cannot write {}: {}; set XDG_CACHE_HOME to a folder that can be written, or pass --data DIR",
      core::printable(path.string()), reason));
}

void move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_writing(to, error.message());
}

Delivery::Delivery(const Package& package, const fs::path& folder)
    : package_(package), folder_(folder) {
  std::error_code error;
  fs::remove_all(folder_, error);  // from a source that failed
  fs::create_directory(folder_, error);
  if (error) fail_writing(folder_, error.message());
}

void Delivery::collect(const fs::path& ready, const std::string& of) const {
  std::error_code error;
  fs::remove_all(ready, error);
  fs::create_directory(ready, error);
  if (error) fail_writing(ready, error.message());
  for (const RemoteFile& remote : package_.remote)
    if (remote.name.ends_with(".tar.gz") && is_here(remote.name)) unpack(folder_ / remote.name);
  for (const PackagedFile& file : package_.files) {
    const fs::path from = folder_ / file.name;
    const std::string compressed = fmt::format("{}.gz", file.name);
    if (!is_here(file.name) && is_here(compressed))
      unpack_gzip(folder_ / compressed, from, file.size);
    const bool there = is_here(file.name);
    if (!there || sha256_of_file(from) != file.sha256)
      throw SourceFailed{
          fmt::format("{} of {} {}", file.name, of,
                      there ? "differs from the published file (SHA-256)" : "is missing")};
    move(from, ready / file.name);
    sync_to_disk(ready / file.name);
  }
  sync_to_disk(ready);
}

void Delivery::unpack(const fs::path& archive) const { unpack_tar(archive, wanted(), folder_); }

std::map<std::string, core::Bytes> Delivery::wanted() const {
  std::map<std::string, core::Bytes> sizes;
  for (const PackagedFile& file : package_.files) sizes.emplace(file.name, file.size);
  for (const RemoteFile& file : package_.remote) sizes.emplace(file.name, file.size);
  return sizes;
}

bool Delivery::is_here(std::string_view name) const {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(folder_ / name, error));
}

}  // namespace sweetspot::data
