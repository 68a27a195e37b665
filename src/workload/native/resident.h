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

// Whether the data set stays on the run's GPU: if it takes at most half of it, and every epoch
// trains on unmodified samples. Shifted or slowly loaded samples come through the pipeline.
bool is_resident(const Options& options, const data::Dataset& dataset);

// Its size there; the test split only if it is evaluated. Needs only counts and shapes.
core::Bytes resident_bytes(const Options& options, const data::Dataset& dataset);

// A trainer on the run's GPU, with the data set uploaded if it stays there, without a plan.
std::unique_ptr<engine::cuda::ResidentTrainer> make_gpu_trainer(const Run& run,
                                                                const Options& options);

// This many steps or slightly more: in whole graphs, if the engine launches several at once.
std::int64_t whole_graphs(std::int64_t steps);

// The order of each epoch. The next one can be made while the device still runs the last.
class Orders {
 public:
  Orders(std::size_t samples, const data::PipelineOptions& options);
  std::span<const std::uint32_t> at(std::uint32_t epoch);  // until at(epoch + 2)

 private:
  struct Order {
    std::optional<std::uint32_t> epoch;
    std::vector<std::uint32_t> samples;
  };
  std::array<Order, 2> orders_;  // alternating
  bool shuffle_;
  std::uint64_t seed_;
};

}  // namespace sweetspot::workload::native
