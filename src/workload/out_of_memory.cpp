#include "workload/out_of_memory.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "core/text.h"

namespace sweetspot::workload {
namespace {

using namespace std::string_view_literals;

// The messages of the frameworks; PyTorch's other devices print the same as CUDA.
constexpr std::array memory_messages = {
    " out of memory. Tried to allocate"sv,
    "torch.OutOfMemoryError"sv,
    "torch.cuda.OutOfMemoryError"sv,
    "CUDA error: out of memory"sv,
    "MPS backend out of memory"sv,
    "CUBLAS_STATUS_ALLOC_FAILED"sv,
    "DefaultCPUAllocator: can't allocate memory"sv,
    "RESOURCE_EXHAUSTED: Out of memory"sv,
    "RESOURCE_EXHAUSTED: Ran out of memory"sv,
    "RESOURCE_EXHAUSTED: Failed to allocate request"sv,
    "memory for requested buffer of size"sv,
    "is smaller than requested bytes of"sv,
    "Out of memory error on GPU"sv,
    "ResourceExhaustedError"sv,
    "OOM when allocating tensor with shape"sv,
    "JavaScript heap out of memory"sv,
    "std::bad_alloc"sv,
};
// In lower case: enough in an exception, where "out of memory" alone is conclusive.
constexpr std::array thrown_words = {"out of memory"sv,
                                     "can't allocate memory"sv,
                                     "cannot allocate memory"sv,
                                     "cublas_status_alloc_failed"sv,
                                     "cudaerrormemoryallocation"sv,
                                     "resource_exhausted"sv};

// One of these is in every message above and in Python's exception.
constexpr std::array memory_parts = {
    RareSubstring{"emory"sv, 4},         RareSubstring{"ALLOC_FAILED"sv, 6},
    RareSubstring{"xhaustedError"sv, 0}, RareSubstring{"OOM when"sv, 0},
    RareSubstring{"bad_alloc"sv, 3},     RareSubstring{"EXHAUSTED: F"sv, 1}};

// "MemoryError" and "numpy.core._exceptions._ArrayMemoryError: Unable to …" at the end of a
// traceback; a source line that mentions it does not start with it.
bool is_python_memory_error(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  return name.ends_with("MemoryError") && name.find_first_of(" \t(\"'") == std::string_view::npos;
}

}  // namespace

bool may_tell_of_memory(std::string_view line) {
  return std::ranges::any_of(memory_parts,
                             [line](const RareSubstring& part) { return has(line, part); });
}

bool prints_out_of_memory(std::string_view line) {
  if (!may_tell_of_memory(line)) return false;
  return std::ranges::any_of(memory_messages,
                             [line](auto message) { return line.find(message) != line.npos; }) ||
         is_python_memory_error(core::trimmed(line));
}

bool throws_out_of_memory(std::string_view message) {
  if (prints_out_of_memory(message)) return true;
  std::string lower(message);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(
      thrown_words, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace sweetspot::workload
