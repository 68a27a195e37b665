#include "study/confirm.h"

#include <algorithm>
#include <limits>
#include <new>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::study {
namespace {

// To the program's own end, if nothing shows what an epoch is.
std::int64_t updates_of_epoch(const workload::Workload& workload, const EpochOf& epoch) {
  // One more than an epoch has, so that everything between two epochs is run.
  if (epoch.steps_of_program) return *epoch.steps_of_program + 1;
  if (const auto samples = workload.samples()) return (*samples + epoch.size - 1) / epoch.size + 1;
  return std::numeric_limits<std::int64_t>::max();
}

// The evaluation of a native model runs after the steps of its trial.
void add_evaluation(Loop& loop, workload::Workload& workload, const trial::Setting& setting,
                    Lasted& lasted) {
  try {
    if (const auto memory = workload.evaluate(setting, loop.stop()))
      lasted.memory = std::max(lasted.memory.value_or(0), *memory);
  } catch (const core::DeviceLost& lost) {
    loop.device_lost(lost.what());
  } catch (const core::OutOfMemory& refused) {
    lasted.outcome = trial::Outcome::out_of_memory, lasted.note = refused.what();
  } catch (const std::bad_alloc&) {
    lasted.outcome = trial::Outcome::out_of_memory;
    lasted.note = "the memory for its evaluation was refused";
  }
}

}  // namespace

std::string words(const Confirm& confirm) {
  return confirm.steps ? core::format_count(static_cast<double>(*confirm.steps)) + " steps"
                       : "an epoch";
}

std::optional<Lasted> run_to_confirm(Loop& loop, workload::Workload& workload,
                                     const Confirm& confirm, const trial::Setting& setting,
                                     const EpochOf& epoch) {
  measure::MeasureOptions options = loop.options().measure;
  options.updates = confirm.steps ? *confirm.steps : updates_of_epoch(workload, epoch);
  // No time limit.
  options.max_time = core::Seconds(std::numeric_limits<double>::max());
  options.max_steps = std::numeric_limits<std::int64_t>::max();
  const trial::Trial* run = loop.run(setting, options);
  if (!run) return std::nullopt;
  Lasted lasted{run->warm_up_steps + run->steps, run->outcome, run->memory_measured, run->note};
  if (run->outcome == trial::Outcome::ok && !confirm.steps)
    add_evaluation(loop, workload, run->setting, lasted);
  return lasted;
}

}  // namespace sweetspot::study
