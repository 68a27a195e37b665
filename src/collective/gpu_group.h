#pragma once
#include "collective/group.h"

namespace sweetspot::collective {

// Ranks that train on GPUs: they also sum values in GPU memory, in the order of a stream, so that
// neither the host nor the GPU's other streams wait.
class GpuGroup : public Group {
 public:
  // The stream of queued sums, a cudaStream_t. By events, the caller makes it wait for the values,
  // and its own streams for the sums.
  virtual void* stream() const = 0;
  // Sums these spans of GPU memory in place, behind what is on the stream already; returns
  // immediately. Also while the stream is being captured into a graph: then each launch of the
  // graph sums, as long as this group exists. Until the stream is idle, no other call is made.
  virtual void queue_all_reduce(std::span<const std::span<float>> values) = 0;
  // When the stream is idle: MachineError if one of the queued sums failed.
  virtual void check_queued() = 0;
};

}  // namespace sweetspot::collective
