#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "trial/study.h"

namespace sweetspot::cluster {

// What the tasks of a cluster job and their submitter leave for each other in a folder that all
// machines see. A file is there whole or not at all.

void write_settings(const std::filesystem::path& folder, std::span<const trial::Setting> settings);
trial::Setting read_setting(const std::filesystem::path& folder, std::size_t task);

// A task's store, a SQLite file that is written on a disk of its node: copied as soon as the study
// is in it, and once more with the trial.
enum class Stage { begun, finished };
void leave_store(const std::filesystem::path& folder, std::size_t task, Stage stage,
                 const std::filesystem::path& store);
// The study as it was left last, by the machine that the task ran on; nothing: not yet.
std::optional<trial::Study> study_left(const std::filesystem::path& folder, std::size_t task,
                                       Stage stage);
// Before a task is queued once more.
void forget(const std::filesystem::path& folder, std::size_t task);

}  // namespace sweetspot::cluster
