#pragma once
#include <cuda_runtime.h>

#include "core/buffer.h"

namespace sweetspot::engine::cuda {

// Throws unless successful: OutOfMemory for a failed allocation, DeviceLost for a device that no
// longer responds, else MachineError; with what was being done.
void check(cudaError_t error, const char* doing);

// Zeroed device memory for one use.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(core::Bytes size, core::Use use);
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept { return swap(other), *this; }
  ~DeviceBuffer() { cudaFree(data_); }

  core::Bytes size() const { return size_; }
  core::Use use() const { return use_; }
  std::byte* data() const { return data_; }
  template <class T>
  T* as(core::Bytes offset = 0) const {
    return reinterpret_cast<T*>(data_ + offset);
  }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_), std::swap(size_, other.size_), std::swap(use_, other.use_);
  }
  std::byte* data_ = nullptr;
  core::Bytes size_ = 0;
  core::Use use_ = core::Use::workspace;
};

}  // namespace sweetspot::engine::cuda
