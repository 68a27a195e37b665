#include "core/buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <numeric>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::core {
namespace {

std::array<std::atomic<Bytes>, use_count> live{};
std::atomic<bool> guarded = false;

constexpr Bytes page = 4096;

// Before the first byte and after the last one.
struct Margins {
  Bytes before, behind;
};
Margins margins(Bytes size) {
  if (!guarded) return {0, 0};
  const Bytes rest = (page - size % page) % page;
  return {rest / Buffer::alignment * Buffer::alignment, rest % Buffer::alignment + page};
}

}  // namespace

std::string_view name(Use use) {
  constexpr std::array<std::string_view, use_count> names{"weights",     "gradients", "optimizer",
                                                          "activations", "workspace", "input"};
  return names[static_cast<std::size_t>(use)];
}

Bytes MemoryByUse::total() const { return std::accumulate(bytes.begin(), bytes.end(), Bytes{0}); }

MemoryByUse& MemoryByUse::operator+=(const MemoryByUse& other) {
  for (std::size_t i = 0; i < use_count; ++i) bytes[i] += other.bytes[i];
  return *this;
}

MemoryByUse& MemoryByUse::operator-=(const MemoryByUse& other) {
  for (std::size_t i = 0; i < use_count; ++i) bytes[i] -= other.bytes[i];
  return *this;
}

Buffer::Buffer(Bytes size, Use use) : size_(size), use_(use) {
  if (size == 0) return;
  // Mapped, not malloc'ed: zeroed by the kernel, returned immediately, and with huge pages if
  // available.
  const auto [before, behind] = margins(size);
  void* memory = mmap(nullptr, before + size + behind, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw OutOfMemory(
        fmt::format("the machine refused {} for {}; use a smaller batch, or free memory",
                    format_bytes(size), name(use)));
  data_ = static_cast<std::byte*>(memory) + before;
  if (guarded)
    mprotect(data_ + size + behind - page, page, PROT_NONE);
  else
    madvise(memory, size, MADV_HUGEPAGE);
  live[static_cast<std::size_t>(use)] += size;
}

Buffer::~Buffer() {
  if (!data_) return;
  const auto [before, behind] = margins(size_);
  munmap(data_ - before, before + size_ + behind);
  live[static_cast<std::size_t>(use_)] -= size_;
}

MemoryByUse live_buffers() {
  MemoryByUse now;
  for (std::size_t i = 0; i < use_count; ++i) now.bytes[i] = live[i];
  return now;
}

void guard_buffers() { guarded = true; }

}  // namespace sweetspot::core
