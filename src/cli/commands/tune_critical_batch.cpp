#include "cli/commands/tune_critical_batch.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/show_run.h"
#include "cli/signals.h"
#include "cli/study_workload.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "learning/critical_batch.h"
#include "probe/proc/host.h"
#include "store/store.h"
#include "workload/native/identity.h"
#include "workload/native/workload.h"

namespace sweetspot::cli {
namespace {

namespace native = workload::native;

constexpr std::int64_t usual_least = 32, usual_epochs = 1;
// With fewer updates a branch shows only its first steps.
constexpr std::int64_t fewest_updates = 8;

// What is tried: B, 2B, 4B … as long as a branch has enough updates, each branch a whole number of
// them.
struct Branches {
  std::vector<std::int64_t> batches;
  std::int64_t samples = 0;
};

Branches branches_of(const CriticalBatchFlags& flags, std::int64_t data_samples) {
  const std::int64_t samples = flags.samples.value_or(
      std::min(data_samples, std::max<std::int64_t>(data_samples / 4, 8192)));
  const std::int64_t least = flags.least.value_or(usual_least);
  const std::int64_t most =
      std::min(flags.most.value_or(samples / fewest_updates), std::min(samples, data_samples));
  Branches branches;
  for (std::int64_t batch = least; batch <= most; batch *= 2) branches.batches.push_back(batch);
  if (flags.most && *flags.most < 2 * least)
    throw core::InputError(fmt::format(
        "there are no two batches to compare from {} to {}; raise --max, or lower --min", least,
        *flags.most));
  if (branches.batches.size() < 2)
    throw core::InputError(
        fmt::format("branches of {} samples leave no two batches from {} on with {} updates; raise "
                    "--branch-samples, or lower --min",
                    samples, least, fewest_updates));
  const std::int64_t largest = branches.batches.back();
  branches.samples = (samples + largest - 1) / largest * largest;
  return branches;
}

}  // namespace

void add_critical_batch_flags(CLI::App& app, CriticalBatchFlags& flags) {
  CLI::Option* asked =
      app.add_flag("--critical-batch", flags.asked,
                   "measure up to which batch (from --min [32], doubling) the loss after as many "
                   "samples stays within --tolerance: short branches from a checkpoint");
  text_flag(app, "--after", "EPOCHS",
            "with --critical-batch: train this many before the branches [1; 0 with --load]",
            [&flags](const std::string& text) {
              flags.epochs = core::parse_whole(text, "--after", 0, most_epochs);
            })
      ->needs(asked);
  app.add_option("--load", flags.load,
                 "with --critical-batch: start from these weights (safetensors)")
      ->type_name("FILE")
      ->needs(asked);
  text_flag(
      app, "--branch-samples", "N",
      "with --critical-batch: samples of each branch [a quarter of the data set, at least 8192]",
      [&flags](const std::string& text) {
        flags.samples = core::parse_whole(text, "--branch-samples", 1);
      })
      ->needs(asked);
  whole_flag(app, "--branch-seeds", flags.seeds, {1, 1000},
             "with --critical-batch: branches per batch, with different sample orders")
      ->needs(asked);
}

int tune_critical_batch(const StudyFlags& study, const CriticalBatchFlags& flags, Output& output) {
  if (study.command.given() || study.workload != "native")
    throw core::InputError(
        "--critical-batch branches sweetspot's own training; leave out the program");
  const std::unique_ptr<store::Store> store = store::open_store(store::store_url(study.db));
  native::Options options = study.native.resolved();
  options.load = flags.load;
  options.pipeline.batch = flags.least.value_or(usual_least);
  native::Run run = native::open(options, Output::talk);
  const Branches branches = branches_of(flags, static_cast<std::int64_t>(run.dataset.train.count));
  const std::int64_t epochs = flags.epochs.value_or(flags.load ? 0 : usual_epochs);

  StudyWorkload opened;
  opened.title =
      fmt::format("{} on {}", core::printable(run.network.name), core::printable(run.dataset.name));
  opened.identity = native::identity_json(run, true);
  opened.threads = options.threads, opened.device = options.device;
  opened.facts.memory_free = probe::proc::memory().free;
  add_limits(study, opened);
  learning::CriticalBatchOptions asked;
  asked.batches = branches.batches, asked.samples = branches.samples;
  for (int i = 0; i < flags.seeds; ++i)
    asked.seeds.push_back(options.seed + static_cast<std::uint64_t>(i));
  asked.tolerance = study.tolerance;
  asked.base = native::setting_of(options);
  asked.rule = options.rule(flags.rule, true);
  asked.memory_limit = opened.facts.memory_limit;
  asked.loop.budget = study.budget;
  advise::Request request = request_of(study, opened, advise::Request::Kind::critical_batch);
  request.batches = branches.batches;
  request.epochs = epochs;
  request.branch_samples = branches.samples;
  if (flags.rule) request.learning_rate_rule = name(*flags.rule);
  if (flags.load) request.weights_file = flags.load->string();
  const CountSignals signals;
  const std::unique_ptr<store::Writer> writer =
      open_study(*store, advise::study_key(opened.title, request), opened, study);
  const std::unique_ptr<workload::Branching> branching =
      native::make_branching(std::move(run), static_cast<int>(epochs));
  study::Result result;
  {
    LiveStudy live({"critical batch of " + opened.title, study.precision,
                    asked.batches.size() * asked.seeds.size(), study.tolerance, study.verbose});
    result = learning::critical_batch(*branching, *writer, asked, live, CountSignals::presses());
  }
  return show_run(study, shown_run(*store, writer->study(), result), {}, output);
}

}  // namespace sweetspot::cli
