#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "core/units.h"

namespace sweetspot::core {

// What the large allocations of a training run are for: the categories of `sweetspot memory`.
enum class Use { weights, gradients, optimizer, activations, workspace, input };
constexpr std::size_t use_count = 6;
std::string_view name(Use use);

// Bytes by category: predicted by a plan, or counted from the live buffers.
struct MemoryByUse {
  std::array<Bytes, use_count> bytes{};
  Bytes& operator[](Use use) { return bytes[static_cast<std::size_t>(use)]; }
  Bytes operator[](Use use) const { return bytes[static_cast<std::size_t>(use)]; }
  Bytes total() const;
  MemoryByUse& operator+=(const MemoryByUse& other);
  MemoryByUse& operator-=(const MemoryByUse& other);
  bool operator==(const MemoryByUse&) const = default;
};

// Zeroed memory aligned to a cache line. Every large allocation of the engines and of the input
// pipeline is a Buffer, so that live_buffers() gives the measured value for every prediction.
class Buffer {
 public:
  static constexpr std::size_t alignment = 64;

  Buffer() = default;
  Buffer(Bytes size, Use use);  // OutOfMemory if the allocation fails
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept { return swap(other), *this; }
  ~Buffer();

  Bytes size() const { return size_; }
  std::byte* data() const { return data_; }
  template <class T>
  T* as(Bytes offset = 0) const {
    return reinterpret_cast<T*>(data_ + offset);
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_), std::swap(size_, other.size_), std::swap(use_, other.use_);
  }
  std::byte* data_ = nullptr;
  Bytes size_ = 0;
  Use use_ = Use::workspace;
};

// What the process currently holds in Buffers.
MemoryByUse live_buffers();

// For tests: from now on a Buffer ends at a guard page, so that a kernel that reads or writes
// beyond it crashes there. (Sanitizers do not check mapped memory.)
void guard_buffers();

}  // namespace sweetspot::core
