#include <gtest/gtest.h>

#include "workload/command/output/reader.h"
#include "workload/out_of_memory.h"

namespace sweetspot::workload::command::output {
namespace {

TEST(Evidence, OfMemoryThatRanOut) {
  for (const char* line :
       {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has",
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 8 GiB total)",
        "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 1 GiB",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: can't allocate "
        "memory: you",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes.",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node",
        "OOM when allocating tensor with shape[64,112,112,64] and type float", "MemoryError",
        "MemoryError: bad allocation",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"})
    EXPECT_TRUE(prints_out_of_memory(line)) << line;
}

TEST(Evidence, WhatMayHaveOtherCausesIsNone) {
  for (const char* line :
       {"RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear",
        "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
        "RuntimeError: Unable to find an engine to execute this computation", "Killed",
        "    except MemoryError:", "catching (MemoryError) here", "GPU memory: 2.33 GiB",
        "memory is fine", "pinned memory allocated", ""})
    EXPECT_FALSE(prints_out_of_memory(line)) << line;
}

TEST(Evidence, FewerWordsWillDoInAnException) {
  for (const char* message :
       {"CUDA error: out of memory", "std::bad_alloc", "Cannot allocate memory",
        "cudaErrorMemoryAllocation: 2", "RESOURCE_EXHAUSTED"})
    EXPECT_TRUE(throws_out_of_memory(message)) << message;
  EXPECT_FALSE(throws_out_of_memory("the memory of a goldfish"));
}

TEST(Evidence, OfABatchThatChanged) {
  for (const char* line :
       {"AutoBatch: Using batch-size 21 for CUDA:0 8.9G/14.7G (60%) ok",
        "AutoBatch: batch=1500 outside safe range, using default batch-size 16.",
        "WARNING CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).",
        "Decreasing batch size to: 64.", "Resource error caught. decreasing batch size to 32",
        "Batch size 2 succeeded, trying batch size 4", "Batch size 16 failed, trying batch size 8",
        "Finished batch size finder, will continue with full run using batch size 8",
        "auto_find_batch_size=True,", "  'auto_find_batch_size': True,"})
    EXPECT_TRUE(shows_changed_batch(line)) << line;
}

TEST(Evidence, TalkOfBatchesIsNone) {
  for (const char* line :
       {"- `auto_find_batch_size`: False", "auto_find_batch_size=False,", "auto_find_batch_size",
        "Instantaneous batch size per device = 8", "Train batch 16", "batch size 64",
        "AutoBatch: Computing optimal batch size for imgsz=640 at 60.0% CUDA memory utilization.",
        "Consider decreasing batch size to reduce memory usage"})
    EXPECT_FALSE(shows_changed_batch(line)) << line;
}

TEST(Evidence, IsFoundThroughColoursAndTheFirstIsKept) {
  Reader reader;
  reader.feed("\033[34m\033[1mAutoBatch: \033[0mUsing batch-size 21 for CUDA:0\n", 1);
  reader.feed("Reducing to batch=8 and retrying\nMemoryError\n", 2);
  EXPECT_EQ(reader.findings().changed_batch, "AutoBatch: Using batch-size 21 for CUDA:0");
  EXPECT_EQ(reader.findings().memory_evidence, "MemoryError");
}

TEST(Evidence, UltralyticsRetryIsAChangeAndNotTheEnd) {
  Reader reader;
  reader.feed("CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).\n", 1);
  EXPECT_TRUE(reader.findings().changed_batch);
  EXPECT_FALSE(reader.findings().memory_evidence);
}

}  // namespace
}  // namespace sweetspot::workload::command::output
