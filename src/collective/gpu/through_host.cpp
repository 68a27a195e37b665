#include "collective/gpu/through_host.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "collective/gpu/cuda_errors.h"

namespace sweetspot::collective {
namespace {

// The copies and the sum are on one stream: a single staging buffer is enough. The sum is a host
// function of that stream, which a graph can hold too.
class ThroughHost final : public GpuGroup {
 public:
  ThroughHost(Group& ranks, int gpu) : ranks_(ranks), gpu_(gpu) {
    use_gpu();
    void* taken = nullptr;
    check(cudaMallocHost(&taken, staging_floats * sizeof(float)), "taking host memory");
    staging_ = static_cast<float*>(taken);
    if (const cudaError_t error = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
        error != cudaSuccess) {
      cudaFreeHost(staging_);
      check(error, "making a stream");
    }
  }
  ThroughHost(const ThroughHost&) = delete;
  ThroughHost& operator=(const ThroughHost&) = delete;
  ~ThroughHost() override {
    cudaSetDevice(gpu_);
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cudaFreeHost(staging_);
  }

  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  int local_size() const override { return ranks_.local_size(); }
  Ticket begin_all_reduce(std::span<float> values) override {
    return ranks_.begin_all_reduce(values);
  }
  void wait(Ticket ticket) override { ranks_.wait(ticket); }
  void sum(std::span<double> values) override { ranks_.sum(values); }
  void broadcast(std::span<float> values, int root) override { ranks_.broadcast(values, root); }
  void barrier() override { ranks_.barrier(); }
  std::unique_ptr<SharedFloats> share(std::span<const float> values) override {
    return ranks_.share(values);
  }
  void abandon(int exit_code, const std::string& reason) override {
    ranks_.abandon(exit_code, reason);
  }

  void* stream() const override { return stream_; }
  void queue_all_reduce(std::span<const std::span<float>> values) override {
    use_gpu();
    std::vector<std::span<float>> parts;  // that fit into the staging buffer together
    std::size_t staged = 0;
    for (std::span<float> left : values)
      while (!left.empty()) {
        const std::size_t count = std::min(left.size(), staging_floats - staged);
        parts.push_back(left.first(count));
        left = left.subspan(count);
        if ((staged += count) == staging_floats) queue_staged(parts, std::exchange(staged, 0));
      }
    if (staged > 0) queue_staged(parts, staged);
  }
  void check_queued() override {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static constexpr std::size_t staging_floats = std::size_t{1} << 20;

  struct Sum {
    ThroughHost* group;
    std::size_t floats;
  };

  void use_gpu() const { check(cudaSetDevice(gpu_), "choosing the GPU"); }

  void queue_staged(std::vector<std::span<float>>& parts, std::size_t floats) {
    const auto copy = [&](bool to_host) {
      float* at = staging_;
      for (const std::span<float> part : parts) {
        check(cudaMemcpyAsync(to_host ? at : part.data(), to_host ? part.data() : at,
                              part.size_bytes(),
                              to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, stream_),
              "copying gradients");
        at += part.size();
      }
    };
    copy(true);
    // Graphs refer to it for as long as they exist.
    Sum& sum = sums_.try_emplace(floats, Sum{this, floats}).first->second;
    check(cudaLaunchHostFunc(stream_, sum_staged, &sum), "summing on the host");
    copy(false);
    parts.clear();
  }

  // Called by a thread of the driver, which must see no exception.
  static void sum_staged(void* argument) {
    const auto& [group, floats] = *static_cast<const Sum*>(argument);
    {
      const std::lock_guard lock(group->mutex_);
      if (group->failure_) return;
    }
    try {
      group->ranks_.all_reduce({group->staging_, floats});
    } catch (...) {
      const std::lock_guard lock(group->mutex_);
      group->failure_ = std::current_exception();
    }
  }

  Group& ranks_;
  const int gpu_;
  float* staging_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::map<std::size_t, Sum> sums_;
  std::mutex mutex_;
  std::exception_ptr failure_;  // the first one
};

}  // namespace

std::unique_ptr<GpuGroup> sum_through_host(Group& ranks, int gpu) {
  return std::make_unique<ThroughHost>(ranks, gpu);
}

std::string gpu_name(int gpu) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::array<char, 64> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), gpu), "naming the GPU");
  return std::string(host.data()) + ' ' + bus.data();
}

}  // namespace sweetspot::collective
