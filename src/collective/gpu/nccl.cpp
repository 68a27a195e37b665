#include "collective/gpu/nccl.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <map>
#include <vector>

#include "collective/gpu/cuda_errors.h"
#include "core/error.h"
#include "core/shared_library.h"

namespace sweetspot::collective {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(NcclId));

// NCCL's functions, from the library found at run time.
struct Library {
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclCommGetAsyncError) get_async_error = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  std::string lack;  // why it is missing
};

Library load() {
  core::SharedLibrary file({"libnccl.so.2"});
  Library library;
  file.find("ncclGetUniqueId", library.get_unique_id);
  file.find("ncclCommInitRank", library.comm_init_rank);
  file.find("ncclCommDestroy", library.comm_destroy);
  file.find("ncclCommAbort", library.comm_abort);
  file.find("ncclAllReduce", library.all_reduce);
  file.find("ncclBroadcast", library.broadcast);
  file.find("ncclGroupStart", library.group_start);
  file.find("ncclGroupEnd", library.group_end);
  file.find("ncclCommGetAsyncError", library.get_async_error);
  file.find("ncclGetErrorString", library.error_string);
  if (!file.lack().empty())
    library.lack =
        fmt::format("NCCL cannot be loaded ({}); install libnccl2, or a newer one", file.lack());
  return library;
}

const Library& nccl() {
  static const Library library = load();
  if (!library.lack.empty()) throw core::InputError(library.lack);
  return library;
}

using collective::check;  // of the CUDA runtime
void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess)
    throw core::MachineError(fmt::format("NCCL's {} failed ({}); NCCL_DEBUG=INFO tells more", what,
                                         nccl().error_string(result)));
}

bool on_device(const void* memory) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    cudaGetLastError();  // an older driver does not know the pointer: it is host memory
    return false;
  }
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    check(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "taking memory");
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(data_); }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class NcclGroup final : public GpuGroup {
 public:
  NcclGroup(const NcclId& id, int rank, int size, int gpu) : rank_(rank), size_(size), gpu_(gpu) {
    use_gpu();
    ncclUniqueId unique{};
    std::ranges::copy(id, unique.internal);
    check(nccl().comm_init_rank(&communicator_, size, unique, rank), "start");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  ~NcclGroup() override {
    cudaSetDevice(gpu_);
    if (stream_) cudaStreamSynchronize(stream_);
    for (auto& [ticket, reduction] : under_way_) cudaEventDestroy(reduction.done);
    if (communicator_) nccl().comm_destroy(communicator_);
    if (stream_) cudaStreamDestroy(stream_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return size_; }  // NCCL does not report it

  // Host values are copied to the GPU and back, on the stream.
  Ticket begin_all_reduce(std::span<float> values) override {
    use_gpu();
    Reduction& reduction = under_way_[begun_];
    void* place = to_device(values.data(), values.size_bytes(), reduction.copy);
    check(
        nccl().all_reduce(place, place, values.size(), ncclFloat, ncclSum, communicator_, stream_),
        "all-reduce");
    to_host(values.data(), values.size_bytes(), reduction.copy);
    check(cudaEventCreateWithFlags(&reduction.done, cudaEventDisableTiming), "making an event");
    check(cudaEventRecord(reduction.done, stream_), "recording an event");
    return begun_++;
  }
  void wait(Ticket ticket) override {
    use_gpu();
    const auto found = under_way_.find(ticket);
    if (found == under_way_.end()) return;
    check(cudaEventSynchronize(found->second.done), "an all-reduce");
    cudaEventDestroy(found->second.done);
    under_way_.erase(found);
  }
  void sum(std::span<double> values) override {
    use_gpu();
    std::unique_ptr<DeviceMemory> copy;
    void* place = to_device(values.data(), values.size_bytes(), copy);
    check(
        nccl().all_reduce(place, place, values.size(), ncclDouble, ncclSum, communicator_, stream_),
        "all-reduce");
    to_host(values.data(), values.size_bytes(), copy);
    check(cudaStreamSynchronize(stream_), "an all-reduce");
  }
  void broadcast(std::span<float> values, int root) override {
    use_gpu();
    std::unique_ptr<DeviceMemory> copy;
    void* place = to_device(values.data(), values.size_bytes(), copy);
    check(nccl().broadcast(place, place, values.size(), ncclFloat, root, communicator_, stream_),
          "broadcast");
    to_host(values.data(), values.size_bytes(), copy);
    check(cudaStreamSynchronize(stream_), "a broadcast");
  }
  void barrier() override {
    double nothing = 0;
    sum({&nothing, 1});
  }
  std::unique_ptr<SharedFloats> share(std::span<const float>) override {
    throw core::InputError(
        "NCCL has no weights that ranks share one-sidedly; train asynchronously on CPUs, by MPI");
  }
  void* stream() const override { return stream_; }
  // As one operation of NCCL's.
  void queue_all_reduce(std::span<const std::span<float>> values) override {
    use_gpu();
    check(nccl().group_start(), "all-reduce");
    for (const std::span<float> part : values)
      check(nccl().all_reduce(part.data(), part.data(), part.size(), ncclFloat, ncclSum,
                              communicator_, stream_),
            "all-reduce");
    check(nccl().group_end(), "all-reduce");
  }
  void check_queued() override {
    ncclResult_t state = ncclSuccess;
    check(nccl().get_async_error(communicator_, &state), "state");
    check(state, "all-reduce");
  }
  void abandon(int, const std::string&) override {
    if (communicator_) nccl().comm_abort(communicator_);
    communicator_ = nullptr;
  }

 private:
  struct Reduction {
    cudaEvent_t done = nullptr;
    std::unique_ptr<DeviceMemory> copy;  // of host values
  };

  void use_gpu() const { check(cudaSetDevice(gpu_), "choosing the GPU"); }

  void* to_device(void* values, std::size_t bytes, std::unique_ptr<DeviceMemory>& copy) {
    if (on_device(values)) return values;
    copy = std::make_unique<DeviceMemory>(bytes);
    check(cudaMemcpyAsync(copy->data(), values, bytes, cudaMemcpyHostToDevice, stream_),
          "copying to the GPU");
    return copy->data();
  }
  void to_host(void* values, std::size_t bytes, const std::unique_ptr<DeviceMemory>& copy) {
    if (copy)
      check(cudaMemcpyAsync(values, copy->data(), bytes, cudaMemcpyDeviceToHost, stream_),
            "copying from the GPU");
  }

  const int rank_, size_, gpu_;
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  Ticket begun_ = 0;
  std::map<Ticket, Reduction> under_way_;
};

}  // namespace

std::optional<std::string> nccl_lack() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0)
    return "there is no GPU that NCCL could use";
  try {
    nccl();
    return std::nullopt;
  } catch (const core::InputError& error) {
    return error.what();
  }
}

NcclId make_nccl_id() {
  ncclUniqueId unique{};
  check(nccl().get_unique_id(&unique), "identifier");
  NcclId id{};
  std::copy_n(unique.internal, id.size(), id.begin());
  return id;
}

std::unique_ptr<GpuGroup> join_nccl(const NcclId& id, int rank, int size, int gpu) {
  return std::make_unique<NcclGroup>(id, rank, size, gpu);
}

}  // namespace sweetspot::collective
