#pragma once
#include <filesystem>
#include <functional>
#include <string_view>

#include "data/catalog.h"
#include "data/sources.h"

namespace sweetspot::data {

// The folder of fetched data sets: XDG_CACHE_HOME (or ~/.cache)/sweetspot.
std::filesystem::path cache_root();

// fetch, is_fetched and verify of sources.h, for a package that need not be in the catalog.
std::filesystem::path fetch_package(const Package& package,
                                    const std::function<void(std::string_view)>& say,
                                    const FetchOptions& options = {});
bool is_package_fetched(const Package& package);
void verify_package(const Package& package);

}  // namespace sweetspot::data
