#include "cluster/task_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "store/store.h"
#include "store/trial_json.h"

namespace sweetspot::cluster {
namespace {

namespace fs = std::filesystem;

fs::path settings_file(const fs::path& folder) { return folder / "settings"; }

fs::path store_file(const fs::path& folder, std::size_t task, Stage stage) {
  return folder / fmt::format("{}.{}.db", task, stage == Stage::begun ? "begun" : "finished");
}

fs::path stopped_file(const fs::path& folder, std::size_t task) {
  return folder / fmt::format("{}.stopped", task);
}

[[noreturn]] void fail_folder(const fs::path& folder, const std::error_code& error) {
  throw core::MachineError(
      fmt::format("the folder {} of the job's files cannot be used ({}); it has to be one that all "
                  "nodes see, and there has to be room in it",
                  core::printable(folder.string()), error.message()));
}

// Through a temporary name: readers find a complete file or none.
void copy_whole(const fs::path& from, const fs::path& to) {
  const fs::path partial = to.string() + ".part";
  std::error_code error;
  fs::copy_file(from, partial, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(partial, to, error);
  if (error) fail_folder(to.parent_path(), error);
}

}  // namespace

void write_settings(const fs::path& folder, std::span<const trial::Setting> settings) {
  std::ofstream file(settings_file(folder));
  for (const trial::Setting& setting : settings) file << store::json_of(setting) << '\n';
  if (!file.flush()) fail_folder(folder, std::make_error_code(std::errc::io_error));
}

trial::Setting read_setting(const fs::path& folder, std::size_t task) {
  std::ifstream file(settings_file(folder));
  std::string line;
  for (std::size_t i = 0; i <= task; ++i)
    if (!std::getline(file, line))
      fail_folder(folder, std::make_error_code(std::errc::no_such_file_or_directory));
  const auto setting = store::setting_of(line);
  if (!setting) fail_folder(folder, std::make_error_code(std::errc::io_error));
  return *setting;
}

void leave_store(const fs::path& folder, std::size_t task, Stage stage, const fs::path& store) {
  copy_whole(store, store_file(folder, task, stage));
}

// Read from a local copy: the folder may be on a network, where no SQLite file is safe to open.
std::optional<trial::Study> study_left(const fs::path& folder, std::size_t task, Stage stage) {
  const fs::path left = store_file(folder, task, stage);
  std::error_code error;
  if (!fs::exists(left, error)) return std::nullopt;
  std::string name = (fs::temp_directory_path() / "sweetspot-task-XXXXXX").string();
  if (!mkdtemp(name.data())) fail_folder(name, std::make_error_code(std::errc::io_error));
  const fs::path copy = fs::path(name) / "task.db";
  copy_whole(left, copy);
  auto study = store::open_store(copy.string())->study(1);
  fs::remove_all(name, error);
  return study;
}

void leave_stopped(const fs::path& folder, std::size_t task, bool stopped) {
  std::error_code ignored;
  if (stopped)
    std::ofstream(stopped_file(folder, task)).flush();
  else
    fs::remove(stopped_file(folder, task), ignored);
}

bool was_stopped(const fs::path& folder, std::size_t task) {
  std::error_code ignored;
  return fs::exists(stopped_file(folder, task), ignored);
}

void forget(const fs::path& folder, std::size_t task) {
  leave_stopped(folder, task, false);
  std::error_code ignored;
  for (const Stage stage : {Stage::begun, Stage::finished})
    fs::remove(store_file(folder, task, stage), ignored);
}

namespace {

// Behind the whole key, so that it can be taken off again: the key is compared as text.
std::string mark_of(const std::string& task) { return fmt::format(" task {}", task); }
constexpr std::string_view on_its_way = ", on its way from a cluster";  // behind its title

const trial::Study* find(std::span<const trial::Study> studies, const std::string& task) {
  const auto found = std::ranges::find_if(studies, [&](const trial::Study& study) {
    return study.study_key.json.ends_with(mark_of(task));
  });
  return found == studies.end() ? nullptr : &*found;
}

}  // namespace

std::string task_name(const std::filesystem::path& folder, std::size_t task) {
  return fmt::format("{}/{}", folder.filename().string(), task);
}

void leave_study(store::Store& store, const std::string& task, const trial::Study& study) {
  trial::StudyKey key = study.study_key;
  key.json += mark_of(task);
  key.workload += on_its_way;
  const auto writer = store.open_study(key, study.environment, false);
  std::vector<trial::Trial> trials = study.trials;
  for (trial::Trial& trial : trials) trial.id = 0;  // of another store
  if (writer->study().trials.empty() && !trials.empty()) writer->save(trials);
}

std::optional<trial::Study> study_left(const store::Store& store,
                                       std::span<const trial::Study> studies,
                                       const std::string& task) {
  const trial::Study* const found = find(studies, task);
  std::optional<trial::Study> left = found ? store.study(found->id) : std::nullopt;
  if (!left) return std::nullopt;
  auto& [title, key] = left->study_key;
  title.resize(title.size() - on_its_way.size()), key.resize(key.size() - mark_of(task).size());
  return left;
}

void forget(store::Store& store, std::span<const trial::Study> studies, const std::string& task) {
  if (const trial::Study* const found = find(studies, task)) store.remove(found->id);
}

}  // namespace sweetspot::cluster
