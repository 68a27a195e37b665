#include "workload/native/memory.h"

#include <algorithm>

#include "core/error.h"
#include "engine/cpu/cpu.h"
#include "workload/native/asynchronous.h"
#include "workload/native/end_point.h"
#include "workload/native/epochs.h"
#include "workload/native/resident.h"

namespace sweetspot::workload::native {
namespace {

// Beyond any machine's memory for any model, and far from overflow.
constexpr std::int64_t most_samples = std::int64_t{1} << 30;

// For GPU memory: the host's pipeline does not count.
core::MemoryByUse predict_on_gpu(const model::Network& network, const Options& options,
                                 const data::Dataset& dataset) {
  core::MemoryByUse memory = engine::cuda::plan(network, gpu_options(options, network),
                                                options.micro_batch(), options.evaluate)
                                 ->memory();
  if (is_resident(options, dataset)) memory[core::Use::input] += resident_bytes(options, dataset);
  if (!options.noise_scale) return memory;
  if (const auto pass = pass_plan(network, options, dataset, options.batch()))
    memory += engine::cuda::added_memory(network, gpu_options(options, network), *pass);
  return memory;
}

}  // namespace

core::MemoryByUse predict(const model::Network& network, const Options& options,
                          const data::Dataset& dataset) {
  if (options.device.gpu) return predict_on_gpu(network, options, dataset);
  const std::vector<std::int64_t> micro_batches = options.micro_batches();
  core::MemoryByUse memory =
      engine::cpu::planned_memory(network, trainer_options(options, network),
                                  {.micro_batches = micro_batches,
                                   .evaluation = options.evaluate || options.sharpness,
                                   .evaluation_gradients = options.sharpness});
  if (options.ranks.asynchronous)
    memory[core::Use::gradients] += asynchronous_bytes(engine::cpu::planned_memory(
        network, trainer_options(options, network), {})[core::Use::gradients]);
  memory[core::Use::input] += data::pipeline_bytes(dataset.train, options.pipeline);
  if (options.evaluate)
    memory[core::Use::input] +=
        data::pipeline_bytes(dataset.test, evaluation_pipeline(dataset.test, options.ranks));
  if (options.sharpness)
    memory[core::Use::input] +=
        data::pipeline_bytes(dataset.train, end_point_pipeline(dataset.train));
  return memory;
}

std::optional<std::int64_t> largest_batch(const model::Network& network, const Options& options,
                                          const data::Dataset& dataset, core::Bytes limit) {
  const auto fits = [&](std::int64_t micro_batch) {
    Options tried = options;
    tried.pipeline.batch = micro_batch * options.accumulation;
    return predict(network, tried, dataset).total() <= limit;
  };
  if (!fits(1)) return std::nullopt;
  const auto fits_and_is_possible = [&](std::int64_t micro_batch) {
    try {
      return fits(micro_batch);
    } catch (const core::Error&) {  // larger than the engine can plan
      return false;
    }
  };
  // Memory never falls as the batch grows, so doubling and then bisection finds the limit.
  std::int64_t good = 1, bad = 2;
  while (bad * options.accumulation <= most_samples && fits_and_is_possible(bad))
    good = bad, bad *= 2;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits_and_is_possible(middle) ? good : bad) = middle;
  }
  return good * options.accumulation;
}

core::Bytes sample_bytes(const data::Dataset& dataset) {
  const core::Bytes value_bytes = dataset.classes > 0 ? sizeof(std::uint8_t) : sizeof(float);
  core::Bytes total = 0;
  for (const data::Samples* samples : {&dataset.train, &dataset.test})
    total += samples->count * (value_bytes * static_cast<core::Bytes>(samples->sample_size()) +
                               sizeof(float) * std::max<core::Bytes>(1, samples->target_size));
  return total;
}

}  // namespace sweetspot::workload::native
