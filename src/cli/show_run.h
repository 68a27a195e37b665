#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "advise/rank_plan.h"
#include "cli/flags/study_flags.h"
#include "report/shown_study.h"
#include "study/loop.h"

namespace sweetspot::cli {

class Output;

// The study of a run; `opened`: as its writer has it.
report::ShownStudy shown_run(const store::Store& store, const trial::Study& opened,
                             const study::Result& result);

struct RunForms {
  bool page = false;                       // leave the HTML report next to the store
  const advise::RankPlan* plan = nullptr;  // for more ranks, if requested
  std::span<const std::int64_t> epochs{};  // of a sweep that trains
  std::string note{};                      // said before the study's own message; may be empty
};
// The result on stdout: one object with --json, else one screen or tables; its message on stderr;
// the requested files. Returns the exit code.
int show_run(const StudyFlags& flags, report::ShownStudy study, const RunForms& forms,
             Output& output);

// The default path of a page: next to its store and named after it, so that two stores in one
// folder do not collide.
std::filesystem::path page_file(const std::string& store_url, const std::string& what);
// The HTML report of a study.
std::filesystem::path report_file(const std::string& store_url, const std::string& study);

}  // namespace sweetspot::cli
