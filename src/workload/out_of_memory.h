#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace sweetspot::workload {

// Floods of output are searched for these, so each is found by a letter that is rare in what
// programs print.
struct RareSubstring {
  std::string_view text;
  std::size_t rare;  // its place in the text
};

inline bool has(std::string_view line, const RareSubstring& part) {
  for (std::size_t at = part.rare; (at = line.find(part.text[part.rare], at)) != line.npos; ++at)
    if (line.substr(at - part.rare).starts_with(part.text)) return true;
  return false;
}

// Frameworks tell of a lack of memory in words only. Does this line of a program's output? What may
// have other causes (CUDNN_STATUS_NOT_SUPPORTED, "Killed") or only mentions it does not.
bool prints_out_of_memory(std::string_view line);
// Whether a line may tell of it, or more of it: most do not.
bool may_tell_of_memory(std::string_view line);
// Does the text of this exception? It is about a failure anyway, so fewer words will do.
bool throws_out_of_memory(std::string_view message);

// What a framework tells when memory runs out: PyTorch, TensorFlow, JAX, CuPy, ONNX Runtime,
// Paddle. Their messages take one line or several.
struct MemoryMessage {
  std::optional<core::Bytes> tried;    // to allocate, in vain
  std::optional<core::Bytes> in_use;   // of its allocator, with what that keeps for later
  std::optional<core::Bytes> free;     // of the device, or of an allocator that took it all
  std::optional<core::Bytes> allowed;  // to its allocator
  std::optional<core::Bytes> total;    // of the device
  std::optional<core::Bytes> process;  // what the process has of it, its context included
  bool on_gpu = false;

  // Adds what a line tells; later lines win.
  void read(std::string_view line);
  // At least what would have been needed, and the most that could be had: of the allocator, or of
  // the process with what it has beside that.
  std::optional<core::Bytes> wanted(bool of_process) const;
  std::optional<core::Bytes> capacity(bool of_process) const;
  // In few words: "out of memory on the GPU, 16.6 GiB in use". Empty where it tells nothing.
  std::string in_short() const;

 private:
  core::Bytes beside(bool of_process) const;
};

}  // namespace sweetspot::workload
