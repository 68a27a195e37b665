#pragma once
#include <filesystem>
#include <string>

#include "report/answer.h"

namespace sweetspot::store {
class Store;
}

namespace sweetspot::cli {

// Where a page goes unless told otherwise: beside its store and named after it, so that those of
// two stores in one folder stay two.
std::filesystem::path page_file(const std::string& store_url, const std::string& what);
// The HTML report of a study.
std::filesystem::path report_file(const std::string& store_url, const std::string& study);

// Writes it there at the end of a run, with the trials' raw steps from the store. A run is not lost
// to a report that cannot be written: that is said.
void leave_report(report::Answer answer, const store::Store& store, const std::string& store_url);

}  // namespace sweetspot::cli
