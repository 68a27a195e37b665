#include "cluster/task_studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sweetspot::cluster {
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
