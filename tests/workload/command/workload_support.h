#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "measure/measure.h"
#include "workload/command/workload.h"

namespace sweetspot::workload::command::testing_support {

// A program of tests/fixtures/programs with its arguments, whose processes can be found again.
Options program(const std::string& script, std::vector<std::string> arguments);

trial::Setting at(std::int64_t batch);

// A short trial, driven as in a study.
trial::Trial measured(CommandWorkload& workload, const trial::Setting& setting,
                      std::optional<core::Seconds> budget = {});
Until::Clock::time_point deadline_in(core::Seconds time);

// Processes started by program()'s options that still exist.
int processes_left(const Options& options);

std::vector<std::string> lines_of(const std::filesystem::path& file);

}  // namespace sweetspot::workload::command::testing_support
