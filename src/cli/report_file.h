#pragma once
#include <filesystem>
#include <string>

namespace sweetspot::cli {

// Where the HTML report of a study goes unless told otherwise: beside its store.
std::filesystem::path report_file(const std::string& store_url, const std::string& study);

}  // namespace sweetspot::cli
