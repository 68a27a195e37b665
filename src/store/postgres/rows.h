#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "store/postgres/connection.h"
#include "trial/study.h"

namespace sweetspot::store::postgres {

// The contents of the tables as plain values; Damaged if a row is invalid.

// Saves a trial with all its details: a new one if it has no id, else replacing the old one.
// Returns its id. A new one that has already arrived under this token is left unchanged.
std::int64_t save_trial(Connection& connection, std::int64_t study, std::int64_t run,
                        const std::string& token, const trial::Trial& trial);
// Replaces its fields, but not its details. It then belongs to the run that does so.
void update_trial(Connection& connection, std::int64_t study, std::int64_t run,
                  const trial::Trial& trial);
// Into each of the studies, with their epochs, without raw steps and traces.
void read_trials(Connection& connection, std::vector<trial::Study>& studies);
std::optional<trial::Trial> select_trial(Connection& connection, std::int64_t id);

// The lists of a trial. Raw steps and traces are read for one trial at a time: they are large.
void insert_details(Connection& connection, std::int64_t id, const trial::Trial& trial);
void delete_details(Connection& connection, std::int64_t id);
// Of all trials with these ids.
void read_details(Connection& connection, const std::vector<trial::Trial*>& trials);
void read_steps_and_trace(Connection& connection, trial::Trial& trial);

// "{1,2,3}": the argument of `= ANY($1)`.
std::string array_of(const std::vector<std::int64_t>& numbers);

// The columns of a setting.
void add_setting(Values& values, const trial::Setting& setting);
trial::Setting setting_at(const Result& result, std::size_t row, std::size_t first_column);

std::int64_t insert_study(Connection& connection, const trial::StudyKey& study_key);
std::int64_t insert_run(Connection& connection, std::int64_t study,
                        const trial::Environment& environment);
void update_state(Connection& connection, std::int64_t study, trial::StudyState state);
// What is running now; nullopt: no trial.
void update_running(Connection& connection, std::int64_t study, std::optional<std::int64_t> batch);
void update_answer(Connection& connection, std::int64_t study, const std::string& answer);
// Marks the study as changed, so that followers read it again.
void count_change(Connection& connection, std::int64_t study);

// Newest first, without trials; all of them, or the one with this number. A study marked as running
// without a writer is `stopped`.
std::vector<trial::Study> select_studies(Connection& connection,
                                         std::optional<std::int64_t> id = std::nullopt);
// The newest with this study key; 0 if there is none.
std::int64_t find_study(Connection& connection, const std::string& key);
// "pid 4211 on node7": the process that last opened this study for writing.
std::string last_writer(Connection& connection, std::int64_t study);

// This process, as named in `run` and `attempt`.
std::string host_name();

}  // namespace sweetspot::store::postgres
