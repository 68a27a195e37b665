#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "store/store.h"

namespace sweetspot::cluster {

// How tasks of a cluster job hand over their trials through a store that all machines reach: each
// as a study of its own, which the submitter takes in and removes. The same as the files of
// task_files.h otherwise.

// "sweetspot-slurm-a1b2c3/7": of the job's folder and the task's number.
std::string task_name(const std::filesystem::path& folder, std::size_t task);

// The study of a task, without trials when it begins, with its trial when it has finished.
void leave_study(store::Store& store, const std::string& task, const trial::Study& study);
// Among the store's studies, as it was left and with the key it had; nullopt: not yet.
std::optional<trial::Study> study_left(const store::Store& store,
                                       std::span<const trial::Study> studies,
                                       const std::string& task);
// Removes what a task has left.
void forget(store::Store& store, std::span<const trial::Study> studies, const std::string& task);

}  // namespace sweetspot::cluster
