#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "advise/rank_plan.h"
#include "cli/flags/study_flags.h"
#include "report/answer.h"

namespace sweetspot::cli {

class Output;

// The result on stdout: one object with --json, else one screen. `page`: the file of the report
// that will be written, or empty; `plan`: for more ranks, if requested. Also writes the requested
// files.
void print_answer(const StudyFlags& flags, const report::Answer& answer, const std::string& page,
                  const advise::RankPlan* plan, Output& output);

// The result of a sweep by epochs on stdout: one object with --json, else the tables and a
// sentence. Also writes the requested files.
void print_epochs(const StudyFlags& flags, const report::Answer& answer,
                  std::span<const std::int64_t> epochs, Output& output);

}  // namespace sweetspot::cli

namespace sweetspot::store {
class Store;
}

namespace sweetspot::cli {

// The default path of a page: next to its store and named after it, so that two stores in one
// folder do not collide.
std::filesystem::path page_file(const std::string& store_url, const std::string& what);
// The HTML report of a study.
std::filesystem::path report_file(const std::string& store_url, const std::string& study);

// Writes it there at the end of a run, with the trials' raw steps from the store. A run is not lost
// to a report that cannot be written: a message says so.
void leave_report(report::Answer answer, const store::Store& store, const std::string& store_url);

}  // namespace sweetspot::cli
