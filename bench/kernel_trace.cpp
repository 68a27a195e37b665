// Loaded into a CUDA program by its driver (CUDA_INJECTION64_PATH): writes when each kernel began
// and ended, on its stream, to the file that KERNEL_TRACE names. Graphs are traced node by node,
// and kernels that overlap stay so. Used by bench/gpu_timeline.
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Kernel {
  std::uint64_t begin, end;  // ns
  std::uint32_t stream;
  std::int32_t blocks[3], threads;
  std::string name;
};
std::mutex mutex;
std::vector<Kernel> kernels;

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  constexpr std::size_t bytes = 8 << 20, alignment = 8;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, bytes));
  *size = bytes, *most_records = 0;
}

void take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t filled) {
  const std::lock_guard lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, filled, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto& k = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    kernels.push_back({k.start,
                       k.end,
                       k.streamId,
                       {k.gridX, k.gridY, k.gridZ},
                       k.blockX * k.blockY * k.blockZ,
                       k.name});
  }
  std::free(buffer);
}

void write_all() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const char* path = std::getenv("KERNEL_TRACE");
  std::FILE* file = std::fopen(path ? path : "kernels.tsv", "w");
  if (!file) return std::perror("KERNEL_TRACE");
  for (const Kernel& k : kernels)
    std::fprintf(file, "%llu\t%llu\t%u\t%d,%d,%d\t%d\t%s\n",
                 static_cast<unsigned long long>(k.begin), static_cast<unsigned long long>(k.end),
                 k.stream, k.blocks[0], k.blocks[1], k.blocks[2], k.threads, k.name.c_str());
  std::fclose(file);
}

}  // namespace

extern "C" int InitializeInjection() {
  if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS ||
      cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
    std::fputs("kernel_trace: CUPTI does not trace kernels here\n", stderr);
  std::atexit(write_all);
  return 1;
}
