#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "engine/cuda/cuda.h"
#include "workload/native/train.h"

namespace sweetspot::workload::native {

// Whether the data set stays on the run's GPU: where it takes no more than half of it, and every
// epoch trains on the samples as they are. What is shifted or slow to load comes by the pipeline.
bool is_resident(const Options& options, const data::Dataset& dataset);

// What it takes there, the test split only where it is evaluated. Counts and shapes will do.
core::Bytes resident_bytes(const Options& options, const data::Dataset& dataset);

// A trainer on the run's GPU, with the data set uploaded if it stays there, and no plan yet.
std::unique_ptr<engine::cuda::ResidentTrainer> make_gpu_trainer(const Run& run,
                                                                const Options& options);

// So many steps or a few more: in whole graphs, where the engine launches several at once.
std::int64_t whole_graphs(std::int64_t steps);

// The order of each epoch. The next one can be made while the device is still at the last.
class Orders {
 public:
  Orders(std::size_t samples, const data::PipelineOptions& options);
  std::span<const std::uint32_t> at(std::uint32_t epoch);  // until at(epoch + 2)

 private:
  struct Order {
    std::optional<std::uint32_t> epoch;
    std::vector<std::uint32_t> samples;
  };
  std::array<Order, 2> orders_;  // in turns
  bool shuffle_;
  std::uint64_t seed_;
};

}  // namespace sweetspot::workload::native
