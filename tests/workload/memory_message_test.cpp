#include "workload/out_of_memory.h"

#include <gtest/gtest.h>

#include <initializer_list>


namespace sweetspot::workload {
namespace {

MemoryMessage read(std::initializer_list<const char*> lines) {
  MemoryMessage message;
  bool shown = false;
  for (const char* line : lines) {
    EXPECT_TRUE(may_tell_of_memory(line)) << line;
    shown = shown || prints_out_of_memory(line);
    message.read(line);
  }
  EXPECT_TRUE(shown) << *lines.begin();
  return message;
}

double gib(const std::optional<core::Bytes>& bytes) {
  return bytes ? static_cast<double>(*bytes) / static_cast<double>(core::GiB) : -1;
}

TEST(MemoryMessage, OfPyTorchAsItIs) {  // 2.2 to 2.11
  const MemoryMessage capped = read(
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.73 GiB. GPU 0 has a total "
       "capacity of 139.80 GiB of which 125.20 GiB is free. Including non-PyTorch memory, this "
       "process has 14.60 GiB memory in use. 16.00 GiB allowed; Of the allocated memory 13.83 GiB "
       "is allocated by PyTorch, and 22.63 MiB is reserved by PyTorch but unallocated. If reserved "
       "but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to "
       "avoid fragmentation."});
  EXPECT_NEAR(gib(capped.wanted(false)), 13.83 + 0.0221 + 3.73, 1e-3);
  EXPECT_NEAR(gib(capped.capacity(false)), 16, 1e-6);
  // The process has a context in addition to what PyTorch counts.
  EXPECT_NEAR(gib(capped.wanted(true)), 14.60 + 3.73, 1e-3);
  EXPECT_NEAR(gib(capped.capacity(true)), 16 + 14.60 - 13.83 - 0.0221, 1e-3);
  EXPECT_EQ(capped.in_short(), "out of memory on the GPU, 14.6 GiB in use");

  const MemoryMessage full = read(
      {"[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 102.00 MiB. GPU 1 "
       "has a total capacity of 39.38 GiB of which 29.81 MiB is free. Process 2493055 has 12.02 "
       "GiB memory in use. Including non-PyTorch memory, this process has 27.30 GiB memory in use. "
       "Of the allocated memory 25.54 GiB is allocated by PyTorch, with 17.00 MiB allocated in "
       "private pools (e.g., CUDA Graphs), and 1.12 GiB is reserved by PyTorch but unallocated."});
  EXPECT_NEAR(gib(full.capacity(false)), 25.54 + 1.12 + 0.0291, 1e-3);  // others have the rest
  EXPECT_NEAR(gib(full.wanted(true)), 27.30 + 0.0996, 1e-3);
}

TEST(MemoryMessage, OfPyTorchAsItWas) {
  // 2.1, with a spelling mistake.
  const MemoryMessage misspelled = read(
      {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a "
       "total capacty of 14.75 GiB of which 11.06 MiB is free. Process 3258 has 14.73 GiB memory "
       "in use. Of the allocated memory 14.04 GiB is allocated by PyTorch, and 509.85 MiB is "
       "reserved by PyTorch but unallocated."});
  EXPECT_NEAR(gib(misspelled.total), 14.75, 1e-6);
  EXPECT_NEAR(gib(misspelled.capacity(true)), 14.04 + 0.4979 + 0.0108, 1e-3);
  EXPECT_FALSE(misspelled.process);  // it does not say which process
  // 1.13 and 2.0.
  const MemoryMessage old =
      read({"RuntimeError: CUDA out of memory. Tried to allocate 37.25 GiB (GPU 0; 23.68 GiB total "
            "capacity; 192.29 MiB already allocated; 15.79 GiB free; 2.37 GiB allowed; 5.05 GiB "
            "reserved in total by PyTorch)"});
  EXPECT_NEAR(gib(old.capacity(false)), 2.37, 1e-6);
  EXPECT_NEAR(gib(old.wanted(false)), 5.05 + 37.25, 1e-6);
  EXPECT_EQ(old.in_short(), "out of memory on the GPU, 5.0 GiB in use");
}

TEST(MemoryMessage, NonsenseOfADriverIsLeftOut) {
  const MemoryMessage wsl = read(
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.98 GiB. GPU 0 has a total "
       "capacity of 31.84 GiB of which 16.30 GiB is free. Including non-PyTorch memory, this "
       "process has 17179869184.00 GiB memory in use. 17.51 GiB allowed; Of the allocated memory "
       "6.74 GiB is allocated by PyTorch, and 7.02 GiB is reserved by PyTorch but unallocated."});
  EXPECT_FALSE(wsl.process);
  EXPECT_NEAR(gib(wsl.wanted(true)), 6.74 + 7.02 + 3.98, 1e-6);
  EXPECT_EQ(wsl.in_short(), "out of memory on the GPU, 13.8 GiB in use");
}

TEST(MemoryMessage, OfTensorFlowInManyLines) {
  const MemoryMessage message =
      read({"2022-10-28 04:33:01: W tensorflow/core/common_runtime/bfc_allocator.cc:479] Allocator "
            "(GPU_0_bfc) ran out of memory trying to allocate 168.75MiB (rounded to 176947200)",
            "2022-10-28 04:33:01: I tensorflow/core/common_runtime/bfc_allocator.cc:1103] "
            "total_region_allocated_bytes_: 7365066752 memory_limit_: 7365066752 available bytes: "
            "0 curr_region_allocation_bytes_: 14730133504",
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution "
            "error: OOM when allocating tensor with shape[64,112,112,64] and type float"});
  EXPECT_EQ(message.capacity(false), 7365066752u);
  EXPECT_EQ(message.wanted(false), 7365066752u + 176947200u);
  EXPECT_EQ(message.in_short(), "out of memory on the GPU, 6.9 GiB in use");
}

TEST(MemoryMessage, OfJax) {
  const MemoryMessage message = read(
      {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
       "allocate 64550340328 bytes."});
  EXPECT_EQ(message.wanted(false), 64550340328u);
  EXPECT_FALSE(message.capacity(false));
  EXPECT_EQ(message.in_short(), "out of memory, 60.1 GiB asked for");
  const MemoryMessage newer = read(
      {"jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
       "60.91GiB."});
  EXPECT_NEAR(gib(newer.wanted(false)), 60.91, 1e-6);
  const MemoryMessage tpu = read(
      {"XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.50G of "
       "15.48G hbm. Exceeded hbm capacity by 5.02G."});
  EXPECT_NEAR(gib(tpu.wanted(false)), 20.5, 1e-6);
  EXPECT_NEAR(gib(tpu.capacity(false)), 15.48, 1e-6);
}

TEST(MemoryMessage, OfOthers) {
  const MemoryMessage cupy = read(
      {"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,693,802,496 bytes (allocated "
       "so far: 1,693,802,496 bytes, limit set to: 2,576,311,910 bytes)."});
  EXPECT_EQ(cupy.wanted(false), 2u * 1693802496u);
  EXPECT_EQ(cupy.capacity(false), 2576311910u);
  const MemoryMessage onnx = read(
      {"onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException: [ONNXRuntimeError] : 6 : "
       "RUNTIME_EXCEPTION : BFCArena::AllocateRawInternal Available memory of 34699008 is smaller "
       "than requested bytes of 945041920"});
  EXPECT_EQ(onnx.wanted(false), 945041920u);
  EXPECT_FALSE(onnx.capacity(false));  // free memory alone says nothing
  EXPECT_EQ(read({"Failed to allocate memory for requested buffer of size 601667840"}).tried,
            601667840u);
  const MemoryMessage host =
      read({"RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't "
            "allocate memory: you tried to allocate 1073741824000 bytes. Error code 12"});
  EXPECT_EQ(host.wanted(true), 1073741824000u);
  EXPECT_EQ(host.in_short(), "out of memory, 1000 GiB asked for");
  EXPECT_NEAR(gib(read({"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for "
                        "an array with shape (1000000, 1000000) and data type float64"})
                      .tried),
              7.28 * 1024, 1e-6);
  EXPECT_NEAR(gib(read({"MemoryError: Unable to allocate 1.5 PiB for an array"}).tried),
              1.5 * 1024 * 1024, 1e-6);
  EXPECT_EQ(read({"MemoryError: Unable to allocate 9 EiB"}).tried, std::nullopt);
}

TEST(MemoryMessage, WordsWithoutNumbersTellNothing) {
  MemoryMessage message;
  for (const char* line :
       {"MemoryError", "RuntimeError: CUDA error: out of memory", "memory is fine",
        "Tried to allocate a lot of memory", "of which memory is free", " allowed memory",
        "Out of memory. Tried to allocate 1e999 GiB", ""})
    message.read(line);
  EXPECT_FALSE(message.tried || message.in_use || message.free || message.allowed || message.total);
  EXPECT_EQ(message.in_short(), "");
}

}  // namespace
}  // namespace sweetspot::workload
