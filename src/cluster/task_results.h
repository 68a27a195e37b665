#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "store/store.h"
#include "trial/study.h"

namespace sweetspot::cluster {

// What the tasks of a cluster job and their submitter leave for each other: in a shared folder, or
// in a store that all machines reach.

// In the folder a file is complete or absent.
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
// A task that was told to stop before it had a trial, as Slurm tells one that it preempts: it fails
// through no fault of its own, and Slurm does not requeue it if it ends before Slurm takes it off.
void leave_stopped(const std::filesystem::path& folder, std::size_t task, bool stopped);
bool was_stopped(const std::filesystem::path& folder, std::size_t task);
// Before a task is queued again.
void forget(const std::filesystem::path& folder, std::size_t task);

// In a store each task has a study of its own, which the submitter takes in and removes.
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
