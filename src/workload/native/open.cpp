#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "engine/cpu/cpu.h"
#include "model/keras.h"
#include "probe/proc/host.h"
#include "workload/native/memory.h"
#include "workload/native/resident.h"
#include "workload/native/train.h"
#include "workload/native/weights_file.h"

namespace sweetspot::workload::native {

namespace {

// Drops rungs that would leave only a few updates per epoch, unless they were requested, and those
// that do not fit in memory: the plans of all of them exist at once.
void fit_dynamic_batch(Options& options, const model::Network& network,
                       const data::Dataset& dataset, const Say& say) {
  constexpr std::int64_t fewest_updates = 16;
  DynamicBatch& batch = *options.dynamic;
  const auto most = [&](std::int64_t value) {
    batch.most = std::max(batch.least, value);
    options.pipeline.batch = batch.ladder().back();
  };
  const auto samples = static_cast<std::int64_t>(dataset.train.count);
  if (!batch.most_given) most(std::min(batch.most, samples / fewest_updates));
  if (options.batch() > samples) return;  // told with the others
  const auto allowed = probe::proc::memory().free;
  const std::int64_t asked = options.batch();
  while (allowed && batch.most / 2 >= batch.least &&
         predict(network, options, dataset).total() > *allowed)
    most(options.batch() / 2);
  if (options.batch() < asked)
    say(
        fmt::format("the dynamic batch grows to at most {}: the plans up to {} would not fit into "
                    "the memory that is free, {}",
                    options.batch(), asked, core::format_bytes(*allowed)));
}

}  // namespace

Run open(const Options& asked, const Say& say) {
  Options options = asked;
  options.pipeline.share = {options.ranks.rank(), options.ranks.count(),
                            options.ranks.asynchronous};
  check(options);
  if (options.save) check_can_save(*options.save);
  if (options.load) check_can_load(*options.load);
  model::Network network = model::load_network(options.model);
  const engine::TrainerOptions trainer = trainer_options(options, network);
  data::Dataset dataset = open_data(options.data, network, trainer.loss, options.seed, say);
  if (options.dynamic) fit_dynamic_batch(options, network, dataset, say);
  if (static_cast<std::uint64_t>(options.batches().back()) > dataset.train.count)
    throw core::InputError(
        fmt::format("a batch of {} is larger than the data set {}, which has {} training samples; "
                    "choose a smaller --batch",
                    options.batches().back(), core::printable(dataset.name), dataset.train.count));
  return {options, std::move(network), trainer, std::move(dataset)};
}

std::unique_ptr<engine::Trainer> make_trainer(const Run& run, const Options& options) {
  if (options.device.gpu) return make_gpu_trainer(run, options);
  return engine::cpu::make_trainer(run.network, trainer_options(options, run.network));
}

}  // namespace sweetspot::workload::native
