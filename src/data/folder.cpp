// A data set in a local folder: which of its files belong to which half, and whether they agree.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "data/cifar.h"
#include "data/idx.h"
#include "data/sources.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;
using core::InputError;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

enum class Half { train, test };
std::string_view name(Half half) { return half == Half::train ? "train" : "test"; }

// "train-images-idx3-ubyte", "t10k-labels.idx1-ubyte.gz", "emnist-letters-test-images-idx3-ubyte".
bool is_file_of(const std::string& file, Half half, std::string_view kind) {
  if (!contains(file, kind) || !contains(file, "idx")) return false;
  if (contains(file, "train")) return half == Half::train;  // first: "latest-train-…" is no test
  return half == Half::test && (contains(file, "t10k") || contains(file, "test"));
}

std::vector<std::string> list(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code ignored;  // a dangling link is not a file of ours
    if (entries->is_regular_file(ignored)) names.push_back(entries->path().filename().string());
  }
  // A data set's name, perhaps misspelt.
  if (error == std::errc::no_such_file_or_directory && !folder.has_parent_path())
    throw InputError(
        fmt::format("there is neither a data set nor a folder '{}'; give one of {}, synthetic, or "
                    "a folder with IDX files",
                    core::printable(folder.string()), fmt::join(known_names(), ", ")));
  if (error)
    throw InputError(fmt::format("cannot read the data folder {}: {}; give a folder with IDX files",
                                 core::printable(folder.string()), error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

// Of a file and its compressed copy, keeps the uncompressed one.
void drop_compressed_copies(std::vector<std::string>& names) {
  std::vector<std::string> kept;
  for (const std::string& name : names) {
    const bool raw_is_there = name.ends_with(".gz") && std::count(names.begin(), names.end(),
                                                                  name.substr(0, name.size() - 3));
    if (!raw_is_there) kept.push_back(name);
  }
  names = kept;
}

fs::path find_file(const fs::path& folder, const std::vector<std::string>& names, Half half,
                   std::string_view kind) {
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found),
               [&](const std::string& file) { return is_file_of(file, half, kind); });
  drop_compressed_copies(found);
  if (found.size() == 1) return folder / found.front();
  const std::string shown = core::printable(folder.string());
  if (found.empty())
    throw InputError(
        fmt::format("{} has no IDX file of {} {}; it should be called like {}-{}-idx{}-ubyte, or "
                    "with .gz behind it",
                    shown, name(half), kind, half == Half::train ? "train" : "t10k", kind,
                    kind == "images" ? 3 : 1));
  throw InputError(
      fmt::format("{} has several files of {} {} ({}); leave one of them in the folder", shown,
                  name(half), kind, core::printable(fmt::format("{}", fmt::join(found, ", ")))));
}

Samples read_half(const fs::path& folder, const std::vector<std::string>& names, Half half) {
  const fs::path image_file = find_file(folder, names, half, "images");
  const fs::path label_file = find_file(folder, names, half, "labels");
  Idx images = read_idx(image_file);
  const Idx labels = read_idx(label_file);
  const std::string image_name = core::printable(image_file.string());
  const std::string label_name = core::printable(label_file.string());
  if (images.shape.size() < 3)
    throw InputError(fmt::format(
        "{} has {} dimensions where images have 3 or 4; are images and labels exchanged?",
        image_name, images.shape.size()));
  if (labels.shape.size() != 1)
    throw InputError(
        fmt::format("{} has {} dimensions where labels have 1; are images and labels exchanged?",
                    label_name, labels.shape.size()));
  if (images.shape[0] != labels.shape[0])
    throw InputError(fmt::format("{} has {} images but {} has {} labels; get both from one source",
                                 image_name, images.shape[0], label_name, labels.shape[0]));
  Samples samples;
  samples.count = static_cast<std::size_t>(images.shape[0]);
  samples.height = images.shape[1];
  samples.width = images.shape[2];
  samples.channels = images.shape.size() == 4 ? images.shape[3] : 1;
  samples.bytes = std::move(images.bytes);
  samples.labels.assign(labels.bytes.begin(), labels.bytes.end());
  return samples;
}

int class_count(const Dataset& dataset) {
  const auto largest = [](const Samples& samples) {
    return *std::max_element(samples.labels.begin(), samples.labels.end());
  };
  return std::max(largest(dataset.train), largest(dataset.test)) + 1;
}

}  // namespace

Dataset read_folder(const fs::path& folder) {
  const std::vector<std::string> names = list(folder);
  if (has_cifar_batches(names)) return read_cifar(folder, names);
  Dataset dataset;
  dataset.name = folder.string();
  dataset.train = read_half(folder, names, Half::train);
  dataset.test = read_half(folder, names, Half::test);
  const Samples &train = dataset.train, &test = dataset.test;
  if (train.height != test.height || train.width != test.width || train.channels != test.channels)
    throw InputError(
        fmt::format("the train images of {} are {}×{}×{} but its test images are {}×{}×{}; "
                    "get both from one source",
                    core::printable(dataset.name), train.height, train.width, train.channels,
                    test.height, test.width, test.channels));
  dataset.classes = class_count(dataset);
  return dataset;
}

}  // namespace sweetspot::data
