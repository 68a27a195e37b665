#include "workload/native/resident.h"

#include <numeric>

#include "data/loader.h"

namespace sweetspot::workload::native {
namespace {

using engine::cuda::Split;

// The rest is for the run itself.
constexpr core::Bytes largest_part = 2;  // one in this many bytes

core::Bytes split_bytes(const data::Samples& samples, const data::Dataset& dataset, Split split) {
  const bool floats = samples.floats.empty() ? samples.bytes.empty() && dataset.classes == 0 : true;
  const core::Bytes value_bytes = floats ? sizeof(float) : sizeof(std::uint8_t);
  const core::Bytes answers =
      samples.target_size > 0 ? samples.target_size * sizeof(float) : sizeof(std::int32_t);
  const core::Bytes order = split == Split::train ? sizeof(std::uint32_t) : 0;
  return samples.count *
         (value_bytes * static_cast<core::Bytes>(samples.sample_size()) + answers + order);
}

engine::cuda::ResidentSamples resident(const data::Samples& samples) {
  return {static_cast<std::int64_t>(samples.count), samples.bytes, samples.floats, samples.labels,
          samples.targets};
}

}  // namespace

bool is_resident(const Options& options, const data::Dataset& dataset) {
  const core::Bytes own_part =
      options.device.memory / static_cast<core::Bytes>(options.ranks_in_memory());
  return options.device.gpu && !options.pipeline.augment_shift &&
         options.pipeline.delay.duration.count() == 0 &&
         resident_bytes(options, dataset) <= own_part / largest_part;
}

core::Bytes resident_bytes(const Options& options, const data::Dataset& dataset) {
  core::Bytes bytes = split_bytes(dataset.train, dataset, Split::train);
  if (options.evaluate) bytes += split_bytes(dataset.test, dataset, Split::test);
  return bytes;
}

std::unique_ptr<engine::cuda::ResidentTrainer> make_gpu_trainer(const Run& run,
                                                                const Options& options) {
  auto trainer = engine::cuda::make_trainer(run.network, gpu_options(options, run.network));
  if (!is_resident(options, run.dataset)) return trainer;
  trainer->upload(Split::train, resident(run.dataset.train));
  if (options.evaluate) trainer->upload(Split::test, resident(run.dataset.test));
  return trainer;
}

std::int64_t whole_graphs(std::int64_t steps) {
  constexpr std::int64_t steps_of_a_graph = 20;
  if (steps < steps_of_a_graph / 2) return steps;
  return (steps + steps_of_a_graph - 1) / steps_of_a_graph * steps_of_a_graph;
}

Orders::Orders(std::size_t samples, const data::PipelineOptions& options)
    : shuffle_(options.shuffle), seed_(options.seed) {
  for (Order& order : orders_) {
    order.samples.resize(samples);
    std::iota(order.samples.begin(), order.samples.end(), std::uint32_t{0});
  }
}

std::span<const std::uint32_t> Orders::at(std::uint32_t epoch) {
  Order& order = orders_[epoch % orders_.size()];
  if (shuffle_ && order.epoch != epoch) data::shuffle(order.samples, seed_, epoch);
  order.epoch = epoch;
  return order.samples;
}

}  // namespace sweetspot::workload::native
