#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace sweetspot::data {

// A file of a data set as stored in the cache.
struct PackagedFile {
  std::string_view name;
  std::string_view path;  // inside the npm package; empty if there is none
  core::Bytes size;
  std::string_view sha256;
};

// A file on the mirrors: one of the above, compressed, or an archive of several.
struct RemoteFile {
  std::string_view name;
  core::Bytes size;
  std::string_view sha256;
};

// What is known about its samples before it is fetched.
struct SamplesKnown {
  std::size_t train_count = 0, test_count = 0;
  std::int64_t height = 0, width = 0, channels = 0;
  int classes = 0;
};

// A data set that can be fetched: from mirrors over HTTPS, or as an npm package of one exact
// version.
struct Package {
  std::string_view name;                   // of the data set, and of its folder in the cache
  std::string_view npm_name, npm_version;  // empty: npm has none
  std::span<const PackagedFile> files;
  std::span<const std::string_view> mirrors = {};  // folders: each ends in a slash
  std::span<const RemoteFile> remote = {};         // what each mirror has
  SamplesKnown samples = {};
};

// InputError that lists the known names if there is no such data set.
const Package& find_package(std::string_view name);
std::span<const Package> all_packages();

}  // namespace sweetspot::data
