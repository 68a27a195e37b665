#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/shown_study.h"

namespace sweetspot::report {

// For users, and for pasting: a markdown table, with a recommendation one row per batch, else of
// the trials.
std::string table(const ShownStudy& study);
// Always of every trial, in lines of at most this width.
std::string trials_table(const ShownStudy& study, std::size_t most_width = 10'000);
// A page: the sentence, the table, the reasons, the command.
std::string markdown(const ShownStudy& study);
// RFC 4180 with a header; unknown is empty; text that a spreadsheet would take for a formula gets
// an apostrophe prefix.
std::string csv(const ShownStudy& study);
// Of every object that contains a recommendation or trials. 2: recommendation.rows, knee, alike and
// others, and its reasons as objects; no measured next to a recommendation; in contention,
// slowed_share instead of the speed of fixed computations.
constexpr int schema_version = 2;
// The object of `--json`, schema_version first.
nlohmann::ordered_json json(const ShownStudy& study);
nlohmann::ordered_json json(const Row& row);  // one of its trials
// Everything known of a trial, one line per field, and the last lines of its program.
std::string trial_text(const Row& row);

// Atomically: written next to the file and renamed over it. MachineError names the file.
void write_file(const std::filesystem::path& file, const std::string& text);
// InputError before hours are spent, if the file could not be written at the end.
void check_can_write(const std::filesystem::path& file, const std::string& flag);

}  // namespace sweetspot::report
