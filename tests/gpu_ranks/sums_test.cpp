// Sums of values in GPU memory, in the order of a stream. Under mpirun each rank runs the same
// tests, all of them on one GPU.
#include <cuda_runtime.h>
#include <gmock/gmock.h>

#include <numeric>
#include <optional>

#include "collective/contract.h"
#include "collective/gpu/join.h"
#include "core/error.h"
#include "engine_cuda/gpu.h"
#include "gpu_groups.h"
#include "host_ranks.h"

namespace sweetspot::tests {
namespace {

using testing::Each;

std::vector<Kind> host_kinds() {
  std::vector<Kind> kinds;
  for (const GpuKind& gpu : gpu_kinds())
    kinds.push_back({gpu.name, host_ranks().size(),
                     [gpu](const auto& work) {
                       REQUIRE_GPU();
                       work(*gpu.join());
                     },
                     gpu.name == "through_host"});
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(OnGpus, GroupContract, testing::ValuesIn(host_kinds()), name_of);

class GpuGroupContract : public testing::TestWithParam<GpuKind> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    group_ = GetParam().join();
    stream_ = static_cast<cudaStream_t>(group_->stream());
  }
  collective::GpuGroup& group() { return *group_; }
  cudaStream_t stream() const { return stream_; }
  int ranks() const { return group_->size(); }
  float rank() const { return static_cast<float>(group_->rank()); }
  // The sum of rank + add over all ranks.
  float sum_of_ranks(float add) const {
    return static_cast<float>(ranks() * (ranks() - 1) / 2) + add * static_cast<float>(ranks());
  }

 private:
  std::unique_ptr<collective::GpuGroup> group_;
  cudaStream_t stream_ = nullptr;
};

class OnGpu {
 public:
  explicit OnGpu(std::size_t floats) : floats_(floats) {
    EXPECT_EQ(cudaMalloc(&data_, floats * sizeof(float)), cudaSuccess);
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  ~OnGpu() { cudaFree(data_); }
  std::span<float> span() const { return {static_cast<float*>(data_), floats_}; }
  void set(float value, cudaStream_t stream) const {
    host_.assign(floats_, value);
    EXPECT_EQ(cudaMemcpyAsync(data_, host_.data(), floats_ * sizeof(float), cudaMemcpyHostToDevice,
                              stream),
              cudaSuccess);
  }
  std::vector<float> get() const {
    std::vector<float> values(floats_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, floats_ * sizeof(float), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

 private:
  std::size_t floats_;
  void* data_ = nullptr;
  mutable std::vector<float> host_;
};

// A stream of the caller's, with the events between it and the group's.
struct Own {
  cudaStream_t stream = nullptr;
  cudaEvent_t made = nullptr, summed = nullptr;
  explicit Own(cudaStream_t of_group) : of_group_(of_group) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaEventCreate(&made), cudaSuccess);
    EXPECT_EQ(cudaEventCreate(&summed), cudaSuccess);
  }
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;
  ~Own() { cudaEventDestroy(made), cudaEventDestroy(summed), cudaStreamDestroy(stream); }
  void hand_over() const {
    cudaEventRecord(made, stream);
    cudaStreamWaitEvent(of_group_, made, 0);
  }
  void take_back() const {
    cudaEventRecord(summed, of_group_);
    cudaStreamWaitEvent(stream, summed, 0);
  }

 private:
  cudaStream_t of_group_;
};

// Sizes below, at and above what is copied at once, alone and together.
TEST_P(GpuGroupContract, SumsInTheOrderOfItsStream) {
  for (const std::size_t floats : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20,
                                   (std::size_t{1} << 20) + 7, std::size_t{5} << 19}) {
    const OnGpu first(floats), second(33);
    first.set(rank() + 1, stream()), second.set(rank() + 2, stream());
    const std::span<float> both[] = {first.span(), second.span()};
    group().queue_all_reduce(both);
    group().queue_all_reduce({both + 1, 1});
    ASSERT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
    group().check_queued();
    EXPECT_THAT(first.get(), Each(sum_of_ranks(1))) << floats;
    EXPECT_THAT(second.get(), Each(sum_of_ranks(2) * static_cast<float>(ranks()))) << floats;
  }
}

TEST_P(GpuGroupContract, WaitsForAnotherStreamAndIsWaitedForByIt) {
  const Own own(stream());
  const OnGpu values(500'000), copy(500'000);
  const std::span<float> span = values.span();
  for (int round = 1; round <= 20; ++round) {
    values.set(rank() + static_cast<float>(round), own.stream);
    own.hand_over();
    group().queue_all_reduce({&span, 1});
    own.take_back();
    cudaMemcpyAsync(copy.span().data(), span.data(), span.size_bytes(), cudaMemcpyDeviceToDevice,
                    own.stream);
    ASSERT_EQ(cudaStreamSynchronize(own.stream), cudaSuccess);
    ASSERT_THAT(copy.get(), Each(sum_of_ranks(static_cast<float>(round)))) << round;
  }
}

TEST_P(GpuGroupContract, SumsAgainInEachLaunchOfAGraph) {
  const Own own(stream());
  const OnGpu values(10'000);
  const std::span<float> span = values.span();
  ASSERT_EQ(cudaStreamBeginCapture(own.stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  own.hand_over();
  group().queue_all_reduce({&span, 1});
  group().queue_all_reduce({&span, 1});
  own.take_back();
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(own.stream, &captured), cudaSuccess);
  cudaGraphExec_t graph = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&graph, captured, 0), cudaSuccess);
  for (int round = 1; round <= 20; ++round) {
    values.set(rank() + static_cast<float>(round), own.stream);
    ASSERT_EQ(cudaGraphLaunch(graph, own.stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(own.stream), cudaSuccess);
    group().check_queued();
    ASSERT_THAT(values.get(),
                Each(sum_of_ranks(static_cast<float>(round)) * static_cast<float>(ranks())));
  }
  cudaGraphExecDestroy(graph), cudaGraphDestroy(captured);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuGroupContract, testing::ValuesIn(gpu_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST(GpuRanks, ThatShareAGpuSumThroughTheHost) {
  REQUIRE_GPU();
  const collective::GpuRanks joined = collective::join_gpus(host_ranks(), 0);
  EXPECT_EQ(joined.sharing, host_ranks().size());
  if (host_ranks().size() > 1) {
    EXPECT_NE(joined.why_not_nccl, "");
  }
  const OnGpu values(100);
  const auto stream = static_cast<cudaStream_t>(joined.group->stream());
  values.set(1, stream);
  const std::span<float> span = values.span();
  joined.group->queue_all_reduce({&span, 1});
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_THAT(values.get(), Each(static_cast<float>(host_ranks().size())));
}

// A group whose sums fail, as when another rank is lost.
class Failing final : public collective::Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_size() const override { return 1; }
  Ticket begin_all_reduce(std::span<float>) override { throw core::MachineError("lost"); }
  void wait(Ticket) override {}
  void sum(std::span<double>) override {}
  void broadcast(std::span<float>, int) override {}
  void barrier() override {}
  std::unique_ptr<collective::SharedFloats> share(std::span<const float>) override {
    return nullptr;
  }
  void abandon(int, const std::string&) override {}
};
TEST(GpuRanks, HearOfASumThatFailedOnTheHost) {
  REQUIRE_GPU();
  Failing ranks;
  const auto group = collective::sum_through_host(ranks, 0);
  const OnGpu values(100);
  const std::span<float> span = values.span();
  group->queue_all_reduce({&span, 1});
  ASSERT_EQ(cudaStreamSynchronize(static_cast<cudaStream_t>(group->stream())), cudaSuccess);
  EXPECT_THROW(group->check_queued(), core::MachineError);
}

}  // namespace
}  // namespace sweetspot::tests
