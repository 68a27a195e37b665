#include "workload/command/output/evidence.h"

#include <algorithm>
#include <array>

#include "workload/command/output/cursor.h"

namespace sweetspot::workload::command::output {
namespace {

using namespace std::string_view_literals;

bool has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

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

// What the frameworks print; PyTorch's other devices say the same as CUDA.
constexpr std::array memory_messages = {
    " out of memory. Tried to allocate"sv,
    "torch.OutOfMemoryError"sv,
    "torch.cuda.OutOfMemoryError"sv,
    "CUDA error: out of memory"sv,
    "MPS backend out of memory"sv,
    "CUBLAS_STATUS_ALLOC_FAILED"sv,
    "DefaultCPUAllocator: can't allocate memory"sv,
    "RESOURCE_EXHAUSTED: Out of memory"sv,
    "ResourceExhaustedError"sv,
    "OOM when allocating tensor with shape"sv,
    "JavaScript heap out of memory"sv,
    "std::bad_alloc"sv,
};
// One of these is in every message above and in Python's exception. Floods of output are searched
// for them, so each is found by a letter that is rare in what programs print.
struct Part {
  std::string_view text;
  std::size_t rare;
};
constexpr std::array memory_parts = {Part{"emory"sv, 4}, Part{"ALLOC_FAILED"sv, 6},
                                     Part{"xhaustedError"sv, 0}, Part{"OOM when"sv, 0},
                                     Part{"bad_alloc"sv, 3}};
constexpr Part batch_part{"atch"sv, 2};

bool has(std::string_view line, const Part& part) {
  for (std::size_t at = part.rare; (at = line.find(part.text[part.rare], at)) != line.npos; ++at)
    if (line.substr(at - part.rare).starts_with(part.text)) return true;
  return false;
}

// "MemoryError" and "numpy.core._exceptions._ArrayMemoryError: Unable to …" as a traceback ends; a
// line of source that mentions it does not start with it.
bool is_python_memory_error(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  return name.ends_with("MemoryError") && name.find_first_of(" \t(\"'") == std::string_view::npos;
}

}  // namespace

bool shows_changed_batch(std::string_view line) {
  if (!has(line, batch_part)) return false;
  if (has(line, "AutoBatch: ") && has_number_after(line, "batch-size")) return true;
  if (has_number_after(line, "Reducing to batch=")) return true;
  if (has_number_after(line, "ecreasing batch size to")) return true;
  if (line.starts_with("Batch size ") && has_number_after(line, ", trying batch size")) return true;
  if (has(line, "Finished batch size finder")) return true;
  return sets_auto_find(line);
}

bool shows_memory_ran_out(std::string_view line) {
  const auto in_line = [line](const auto& part) { return has(line, part); };
  if (std::none_of(memory_parts.begin(), memory_parts.end(), in_line)) return false;
  return std::any_of(memory_messages.begin(), memory_messages.end(), in_line) ||
         is_python_memory_error(trimmed(line));
}

}  // namespace sweetspot::workload::command::output
