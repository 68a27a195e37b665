#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "trial/study.h"

namespace sweetspot::cluster {

// What the tasks of a cluster job and their submitter leave for each other in a shared folder. A
// file is complete or absent.

void write_settings(const std::filesystem::path& folder, std::span<const trial::Setting> settings);
trial::Setting read_setting(const std::filesystem::path& folder, std::size_t task);

// A task's store, a SQLite file that is written on its node's disk: copied as soon as it contains
// the study, and once more with the trial.
enum class Stage { begun, finished };
void leave_store(const std::filesystem::path& folder, std::size_t task, Stage stage,
                 const std::filesystem::path& store);
// The study as last left by the task's machine; nullopt: not yet.
std::optional<trial::Study> study_left(const std::filesystem::path& folder, std::size_t task,
                                       Stage stage);
// Before a task is queued again.
void forget(const std::filesystem::path& folder, std::size_t task);

}  // namespace sweetspot::cluster
