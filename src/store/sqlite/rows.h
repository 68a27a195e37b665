#pragma once
#include <cstdint>
#include <vector>

#include "trial/study.h"

namespace SQLite {
class Database;
class Statement;
}  // namespace SQLite

namespace sweetspot::store::sqlite {

// The contents of the tables as plain values; Damaged (errors.h) if a row is invalid.

// Saves a trial with all its details: a new one if it has no id, else replacing the old one.
// Returns its id.
std::int64_t save_trial(SQLite::Database& database, std::int64_t study, std::int64_t run,
                        const trial::Trial& trial);
// Replaces its fields, but not its details. It then belongs to the run that does so.
void update_trial(SQLite::Database& database, std::int64_t study, std::int64_t run,
                  const trial::Trial& trial);
// With their epochs, without raw steps and traces.
std::vector<trial::Trial> select_trials(SQLite::Database& database, std::int64_t study);

// The lists of a trial. Raw steps and traces are read for one trial at a time: they are large.
void insert_details(SQLite::Database& database, std::int64_t id, const trial::Trial& trial);
void delete_details(SQLite::Database& database, std::int64_t id);
void read_epochs(SQLite::Database& database, std::int64_t study, std::vector<trial::Trial>& trials);
void read_gpus(SQLite::Database& database, std::int64_t study, std::vector<trial::Trial>& trials);
void read_evaluations(SQLite::Database& database, std::int64_t study,
                      std::vector<trial::Trial>& trials);
void read_losses(SQLite::Database& database, std::int64_t study, std::vector<trial::Trial>& trials);
void read_steps_and_trace(SQLite::Database& database, trial::Trial& trial);

// Binds the columns of a setting, from `first` on; returns the next index.
int bind_setting(SQLite::Statement& statement, int first, const trial::Setting& setting);
trial::Setting setting_at(SQLite::Statement& row, int first);

std::int64_t insert_study(SQLite::Database& database, const trial::StudyKey& study_key);
std::int64_t insert_run(SQLite::Database& database, std::int64_t study,
                        const trial::Environment& environment);
void update_state(SQLite::Database& database, std::int64_t study, trial::StudyState state);
// What is running now; nullopt: no trial.
void update_running(SQLite::Database& database, std::int64_t study,
                    std::optional<std::int64_t> batch);
void update_answer(SQLite::Database& database, std::int64_t study, const std::string& answer);

// Newest first, without trials; all of them, or the one with this number.
std::vector<trial::Study> select_studies(SQLite::Database& database,
                                         std::optional<std::int64_t> id = std::nullopt);
// The newest with this study key; 0 if there is none.
std::int64_t find_study(SQLite::Database& database, const std::string& key);
// The study of a trial.
std::optional<std::int64_t> study_of(SQLite::Database& database, std::int64_t trial);
// The process that last opened this study for writing.
std::optional<std::int64_t> last_pid(SQLite::Database& database, std::int64_t study);
bool delete_study(SQLite::Database& database, std::int64_t study);

}  // namespace sweetspot::store::sqlite
