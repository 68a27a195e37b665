#include "workload/command/output/evidence.h"

#include "workload/command/output/cursor.h"
#include "workload/rare_substring.h"

namespace sweetspot::workload::command::output {
namespace {

constexpr RareSubstring batch_part{"atch", 2};

// A number after the first of `part` and any of " :=".
bool has_number_after(std::string_view line, std::string_view part) {
  const std::size_t found = line.find(part);
  if (found == std::string_view::npos) return false;
  const std::string_view rest = line.substr(found + part.size());
  const std::size_t first = rest.find_first_not_of(" :=");
  return first != std::string_view::npos && is_digit(rest[first]);
}

// Transformers prints its arguments in several ways: auto_find_batch_size=True,
// 'auto_find_batch_size': True, `auto_find_batch_size`: False. Set, it retries without a word.
bool sets_auto_find(std::string_view line) {
  constexpr std::string_view name = "auto_find_batch_size";
  const std::size_t found = line.find(name);
  if (found == std::string_view::npos) return false;
  const std::string_view rest = line.substr(found + name.size());
  const std::size_t value = rest.find_first_not_of("'\"`: =");
  if (value == 0 || value == std::string_view::npos) return false;
  return rest.substr(value).starts_with("True") || rest.substr(value).starts_with("true");
}

}  // namespace

bool shows_changed_batch(std::string_view line) {
  if (!workload::has(line, batch_part)) return false;
  if (has(line, "AutoBatch: ") && has_number_after(line, "batch-size")) return true;
  if (has_number_after(line, "Reducing to batch=")) return true;
  if (has_number_after(line, "ecreasing batch size to")) return true;
  if (line.starts_with("Batch size ") && has_number_after(line, ", trying batch size")) return true;
  if (has(line, "Finished batch size finder")) return true;
  return sets_auto_find(line);
}

}  // namespace sweetspot::workload::command::output
