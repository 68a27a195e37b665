#pragma once
#include "core/buffer.h"
#include "core/units.h"

namespace sweetspot::engine::cpu {

constexpr core::Bytes aligned(core::Bytes bytes) {
  return (bytes + core::Buffer::alignment - 1) / core::Buffer::alignment * core::Buffer::alignment;
}

// Lays out the pieces of an operation's temporary region one after another.
class ScratchLayout {
 public:
  core::Bytes add(core::Bytes bytes) {
    const core::Bytes offset = size_;
    size_ += aligned(bytes);
    return offset;
  }
  core::Bytes add_floats(std::int64_t count) {
    return add(static_cast<core::Bytes>(count) * sizeof(float));
  }
  core::Bytes size() const { return size_; }

 private:
  core::Bytes size_ = 0;
};

}  // namespace sweetspot::engine::cpu
