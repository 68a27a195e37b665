#pragma once

namespace sweetspot::engine::cuda {

// While one exists, kernels that this thread launches start after everything they follow has ended:
// on a stream that others join, "the predecessor" would be several kernels.
class WholePredecessors {
 public:
  WholePredecessors();
  ~WholePredecessors();
  WholePredecessors(const WholePredecessors&) = delete;
  WholePredecessors& operator=(const WholePredecessors&) = delete;
};

}  // namespace sweetspot::engine::cuda
