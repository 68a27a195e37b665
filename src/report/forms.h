#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/answer.h"

namespace sweetspot::report {

// For people, and for pasting: a markdown table, of a recommendation one row for each batch, else
// of the trials.
std::string table(const Answer& answer);
// Of every trial in any case, in lines that are no wider.
std::string trials_table(const Answer& answer, std::size_t most_width = 10'000);
// A page: the sentence, the table, the reasons, the command.
std::string markdown(const Answer& answer);
// RFC 4180 with a header; unknown is empty; text that a spreadsheet would take for a formula is
// prefixed with an apostrophe.
std::string csv(const Answer& answer);
// Of every object with a recommendation or trials in it. 2: recommendation.rows, knee, alike and
// their like, and its reasons as objects; no measured beside a recommendation; of contention,
// slowed_share in place of how fast fixed computations were.
constexpr int schema_version = 2;
// The object of `--json`, schema_version first.
nlohmann::ordered_json json(const Answer& answer);
nlohmann::ordered_json json(const Row& row);  // one of its trials
// All that is known of a trial, a line for each field, and the last lines of its program.
std::string trial_text(const Row& row);

// Whole or not at all: written beside the file and renamed over it. MachineError names the file.
void write_file(const std::filesystem::path& file, const std::string& text);
// InputError before hours are spent, when the file could not be written at the end.
void check_can_write(const std::filesystem::path& file, const std::string& flag);

}  // namespace sweetspot::report
