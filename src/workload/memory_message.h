#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace sweetspot::workload {

// A framework's out-of-memory message: PyTorch, TensorFlow, JAX, CuPy, ONNX Runtime, Paddle. It may
// have several lines.
struct MemoryMessage {
  std::optional<core::Bytes> tried;    // to allocate
  std::optional<core::Bytes> in_use;   // of its allocator, including its cache
  std::optional<core::Bytes> free;     // of the device, or of an allocator that took it all
  std::optional<core::Bytes> allowed;  // to its allocator
  std::optional<core::Bytes> total;    // of the device
  std::optional<core::Bytes> process;  // of the process, including its context
  bool on_gpu = false;

  // Adds the values of a line; later lines win.
  void read(std::string_view line);
  // A lower bound of what would have been needed, and the most that was available: to the
  // allocator, or to the process with its other memory.
  std::optional<core::Bytes> wanted(bool of_process) const;
  std::optional<core::Bytes> capacity(bool of_process) const;
  // In short: "out of memory on the GPU, 16.6 GiB in use". Empty without values.
  std::string in_short() const;

 private:
  core::Bytes beside(bool of_process) const;
};

}  // namespace sweetspot::workload
