#include "workload/out_of_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
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

using Amount = std::optional<core::Bytes>;

bool is_of_number(char c) { return (c >= '0' && c <= '9') || c == '.' || c == ','; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// "2.00 GiB", "851.61GiB", "15.48G", "1,600,000,000 bytes", "64550340328". All of these frameworks
// count in powers of 1024, whatever they call them.
Amount amount(std::string_view number, std::string_view unit) {
  std::string digits;
  for (const char c : number)
    if (c != ',') digits += c;
  while (!digits.empty() && digits.back() == '.') digits.pop_back();  // of the sentence
  if (digits.empty()) return std::nullopt;
  char* end = nullptr;
  double value = std::strtod(digits.c_str(), &end);
  if (*end != '\0') return std::nullopt;
  constexpr std::string_view prefixes = "KMGTPE";
  if (!unit.empty() && unit != "bytes" && unit != "byte" && unit != "B") {
    const std::size_t power = prefixes.find(unit.front());
    const std::string_view rest = unit.substr(1);
    if (power == prefixes.npos || (!rest.empty() && rest != "B" && rest != "iB"))
      unit = {};  // the next word
    else
      value = std::ldexp(value, 10 * (static_cast<int>(power) + 1));
  }
  constexpr double most = 1e18;
  if (!std::isfinite(value) || value > most) return std::nullopt;
  return static_cast<core::Bytes>(value);
}

Amount amount_at(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_of_number(text[end])) ++end;
  std::size_t unit = end;
  while (unit < text.size() && text[unit] == ' ') ++unit;
  std::size_t unit_end = unit;
  while (unit_end < text.size() && is_letter(text[unit_end])) ++unit_end;
  const bool joined = unit == end && unit_end > unit;
  if (joined && unit_end < text.size() && text[unit_end] >= '0' && text[unit_end] <= '9')
    return std::nullopt;  // "1e999"
  return amount(text.substr(0, end), text.substr(unit, unit_end - unit));
}

Amount after(std::string_view line, std::string_view words) {
  const std::size_t at = line.rfind(words);
  return at == line.npos ? std::nullopt : amount_at(line.substr(at + words.size()));
}

Amount before(std::string_view line, std::string_view words) {
  const std::size_t at = line.rfind(words);
  if (at == line.npos) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && is_letter(line[begin - 1])) --begin;
  while (begin > 0 && line[begin - 1] == ' ') --begin;
  while (begin > 0 && is_of_number(line[begin - 1])) --begin;
  return amount_at(line.substr(begin, at - begin));
}

void take(Amount& to, const Amount& found) {
  if (found) to = found;
}

// PyTorch 2.1 and later tell the parts, earlier ones the sum.
Amount pytorchs(std::string_view line) {
  if (const auto sum = before(line, " reserved in total by PyTorch")) return sum;
  const auto allocated = before(line, " is allocated by PyTorch");
  if (!allocated) return before(line, " already allocated");
  return *allocated + before(line, " is reserved by PyTorch but unallocated").value_or(0);
}

// "Used 20.5G of 15.48G hbm": a TPU's compiler, before anything runs.
void take_tpus(std::string_view line, MemoryMessage& message) {
  const std::size_t used = line.find("Used "), of = line.find(" of ", used);
  if (used == line.npos || of == line.npos || line.find(" hbm") == line.npos) return;
  const Amount needed = amount_at(line.substr(used + 5)), there = amount_at(line.substr(of + 4));
  if (!needed || !there) return;
  message.tried = needed, message.in_use = 0, message.allowed = there, message.on_gpu = false;
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
  const std::string lower = core::lower(message);
  return std::ranges::any_of(
      thrown_words, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

void MemoryMessage::read(std::string_view line) {
  for (const auto words :
       {"ried to allocate "sv, "trying to allocate "sv, "ut of memory allocating "sv,
        "requested buffer of size "sv, "smaller than requested bytes of "sv, "Cannot allocate "sv,
        "Unable to allocate "sv, "Failed to allocate request for "sv})
    take(tried, after(line, words));
  for (const auto words : {" is free"sv, " free;"sv}) take(free, before(line, words));
  for (const auto words : {"vailable memory of "sv, "vailable memory is only "sv})
    take(free, after(line, words));
  take(allowed, before(line, " allowed"));
  for (const auto words : {"max allowed: "sv, "limit set to: "sv, "memory_limit_: "sv})
    take(allowed, after(line, words));
  take(total, before(line, " total capacity"));
  // As PyTorch 2.1 spelled it.
  for (const auto words : {"total capacity of "sv, "total capacty of "sv})
    take(total, after(line, words));
  take(in_use, pytorchs(line));
  for (const auto words : {"allocated so far: "sv, "total_region_allocated_bytes_: "sv})
    take(in_use, after(line, words));
  take(in_use, before(line, " memory has been allocated"));
  if (const auto mps = after(line, "MPS allocated: "))
    in_use = *mps + after(line, "other allocations: ").value_or(0);
  if (line.find("this process has ") != line.npos) take(process, after(line, "this process has "));
  // Some drivers tell nonsense.
  if (process && total && *process > *total) process.reset();
  constexpr std::array gpus = {"CUDA"sv, "HIP"sv,  "XPU"sv,    "MPS"sv,   "GPU"sv,
                               "cuda"sv, "cupy"sv, "CUBLAS"sv, "cublas"sv};
  on_gpu = on_gpu ||
           std::ranges::any_of(gpus, [line](auto word) { return line.find(word) != line.npos; });
  take_tpus(line, *this);
}

core::Bytes MemoryMessage::beside(bool of_process) const {
  return of_process && process && in_use && *process > *in_use ? *process - *in_use : 0;
}

std::optional<core::Bytes> MemoryMessage::wanted(bool of_process) const {
  if (!tried) return std::nullopt;
  return in_use.value_or(0) + *tried + beside(of_process);
}

std::optional<core::Bytes> MemoryMessage::capacity(bool of_process) const {
  Amount least = total;
  const auto limit = [&](core::Bytes bytes) { least = std::min(least.value_or(bytes), bytes); };
  if (allowed) limit(*allowed + beside(of_process));
  if (free && in_use) limit(*free + *in_use + beside(of_process));
  return least;
}

std::string MemoryMessage::in_short() const {
  const std::string head = on_gpu ? "out of memory on the GPU" : "out of memory";
  if (const auto held = process ? process : in_use; held && *held > 0)
    return fmt::format("{}, {} in use", head, core::format_bytes(*held));
  if (tried) return fmt::format("{}, {} asked for", head, core::format_bytes(*tried));
  return "";
}

}  // namespace sweetspot::workload
