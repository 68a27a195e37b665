#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "engine/cpu/cpu.h"
#include "golden.h"

// The sanitizers have their own allocator; everything else is counted at the C library's.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
namespace {
std::atomic<std::int64_t> allocations{0};
}
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) { return ++allocations, __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
  return ++allocations, __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  return ++allocations, __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return ++allocations, __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++allocations;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
}

namespace sweetspot::engine {
namespace {

using namespace testing;

TEST(Allocations, AreCounted) {
  const std::int64_t before = allocations;
  void* volatile memory = ::operator new(100);
  ::operator delete(memory);
  EXPECT_GT(allocations, before);
}

TEST(Allocations, NoneInASteadyStep) {
  for (const char* name : {"paper-cnn", "all-layers", "norm-blocks", "small-images"}) {
    const model::Network network = model::load_network(
        std::string(name) == "paper-cnn" ? name
                                         : golden_path("models/" + std::string(name) + ".json"));
    TrainerOptions options;
    options.threads = 2;
    const auto trainer = cpu::make_trainer(network, options);
    const GoldenBatch batch(network, true, 20, 0);
    for (const std::int64_t micro_batch : {20, 8}) trainer->prepare(micro_batch);
    const auto everything = [&] {
      trainer->step(batch.view(), 20);
      trainer->step(batch.view(), 8);
      trainer->evaluate(batch.view());
    };
    everything();
    const std::int64_t before = allocations;
    const core::MemoryByUse buffers = core::live_buffers();
    for (int i = 0; i < 3; ++i) everything();
    EXPECT_EQ(allocations, before) << name;
    EXPECT_EQ(core::live_buffers(), buffers) << name;
  }
}

}  // namespace
}  // namespace sweetspot::engine
#endif
