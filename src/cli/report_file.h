#pragma once
#include <filesystem>
#include <string>

#include "report/answer.h"

namespace sweetspot::store {
class Store;
}

namespace sweetspot::cli {

// Where the HTML report of a study goes unless told otherwise: beside its store.
std::filesystem::path report_file(const std::string& store_url, const std::string& study);

// Writes it there at the end of a run, with the trials' raw steps from the store, and says where. A
// run is not lost to a report that cannot be written: that is said too.
void leave_report(report::Answer answer, const store::Store& store, const std::string& store_url);

}  // namespace sweetspot::cli
