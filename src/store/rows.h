#pragma once
#include <optional>
#include <string>
#include <vector>

#include "store/database.h"
#include "trial/study.h"

namespace sweetspot::store {

// The contents of the tables as plain values; Damaged if a row is invalid.

// What is running now; nullopt: no trial. Whatever is written into a study does this too: for
// followers, and so that others who do the same wait for the end of the transaction.
void update_running(Connection& connection, std::int64_t study,
                    std::optional<std::int64_t> batch = std::nullopt);

// Newest first, with their trials, without raw steps and traces; all of them, or the one with this
// number.
std::vector<trial::Study> select_studies(Connection& connection,
                                         std::optional<std::int64_t> id = std::nullopt);
Ids select_running(Connection& connection);
// `stopped` if it is gone.
trial::End select_end(Connection& connection, std::int64_t study);
// What a run saves: the number is its own, for each trial that it saves.
struct Saving {
  std::int64_t study = 0, run = 0, number = 0;
};
// A new trial if it has no id, else replacing the old one. Returns its id. A new one that has
// already arrived is left unchanged.
std::int64_t save_trial(Connection& connection, const Saving& saving, const trial::Trial& trial);
// Without its raw steps and trace, which stay.
void amend_trial(Connection& connection, const Saving& saving, const trial::Trial& trial);
// With its raw steps and trace.
std::optional<trial::Trial> select_trial(Connection& connection, std::int64_t id);
// Read for one trial at a time: they are large.
void read_steps_and_trace(Connection& connection, trial::Trial& trial);

}  // namespace sweetspot::store
