#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "engine/cpu/cpu.h"
#include "model/keras.h"
#include "workload/native/resident.h"
#include "workload/native/train.h"
#include "workload/native/weights_file.h"

namespace sweetspot::workload::native {

Run open(const Options& options, const Say& say) {
  check(options);
  if (options.save) check_can_save(*options.save);
  if (options.load) check_can_load(*options.load);
  model::Network network = model::load_network(options.model);
  const engine::TrainerOptions trainer = trainer_options(options, network);
  data::Dataset dataset = open_data(options.data, network, trainer.loss, options.seed, say);
  if (static_cast<std::uint64_t>(options.batch()) > dataset.train.count)
    throw core::InputError(
        fmt::format("a batch of {} is larger than the data set {}, which has {} training samples; "
                    "choose a smaller --batch",
                    options.batch(), core::printable(dataset.name), dataset.train.count));
  return {options, std::move(network), trainer, std::move(dataset)};
}

std::unique_ptr<engine::Trainer> make_trainer(const Run& run, const Options& options) {
  if (options.device.gpu) return make_gpu_trainer(run, options);
  return engine::cpu::make_trainer(run.network, trainer_options(options, run.network));
}

}  // namespace sweetspot::workload::native
