#include "sweep/sweep.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/commands/cluster.h"
#include "cli/commands/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/study_flags.h"
#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/show_run.h"
#include "cli/signals.h"
#include "cli/study_workload.h"
#include "cli/variants.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "store/store.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

constexpr std::size_t most_points = 10'000;

struct SweepFlags {
  StudyFlags study;
  std::string batches = "16..4096*2", accumulations = "1", workers, epochs;
  int repeat = 1, seeds = 1;
  bool force = false, shared = false, sharpness = false;
  store::QueueTerms queue;
  ClusterFlags cluster;

  bool trains() const { return !epochs.empty(); }
};

// As parse_range, but 0 is also a number of workers.
std::vector<trial::Value> parse_workers(const std::string& text) {
  std::vector<trial::Value> values;
  std::string rest;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part == "0")
      values = {std::int64_t{0}};
    else
      rest += (rest.empty() ? "" : ",") + part;
  }
  if (values.empty() || !rest.empty())
    for (const std::int64_t value : core::parse_range(rest, "--workers"))
      values.emplace_back(value);
  return values;
}

std::vector<std::int64_t> epochs_of(const SweepFlags& flags) {
  std::vector<std::int64_t> epochs = core::parse_range(flags.epochs, "--epochs");
  if (epochs.back() > most_epochs)
    throw core::InputError(fmt::format("--epochs {} would never end; ask for at most {}",
                                       core::printable(flags.epochs), most_epochs));
  return epochs;
}

advise::Request request_of(const SweepFlags& flags, const StudyWorkload& opened) {
  advise::Request request = request_of(flags.study, opened, advise::Request::Kind::sweep);
  request.batches = core::parse_range(flags.batches, "--batch");
  const int gpus = flags.study.command.options.ranks_of_batch();
  for (const std::int64_t batch : request.batches)
    if (batch % gpus != 0)
      throw core::InputError(fmt::format(
          "--batch {} cannot be divided among {} GPUs; with --batch-is per-gpu it is the batch of "
          "all together",
          batch, gpus));
  request.accumulations = core::parse_range(flags.accumulations, "--accumulation");
  request.tried = checked_tried(flags.study, opened);
  request.tried["workers"] = parse_workers(
      flags.workers.empty() ? std::to_string(opened.base.configuration.workers) : flags.workers);
  if (flags.trains()) request.epochs = epochs_of(flags).back();
  request.sharpness = flags.sharpness;
  request.repeat = flags.repeat;
  return request;
}

std::vector<trial::Setting> grid(const advise::Request& request, const trial::Setting& setting) {
  const std::vector<trial::Setting> variants = trial::variants_of(setting, request.tried);
  if (request.batches.size() * request.accumulations.size() * variants.size() > most_points)
    throw core::InputError(
        fmt::format("the grid has more than {} points; take larger steps", most_points));
  std::vector<trial::Setting> points;
  for (trial::Setting each : variants)
    for (const std::int64_t accumulation : request.accumulations)
      for (const std::int64_t batch : request.batches) {
        each.batch = batch, each.accumulation = accumulation;
        points.push_back(each);
      }
  return points;
}

int show_plan(const SweepFlags& flags, Output& output) {
  StudyWorkload none;
  none.base.configuration.precision = flags.study.native.precision;
  const std::vector<trial::Setting> points = grid(request_of(flags, none), none.base);
  if (flags.cluster.given()) {
    const auto of_each = static_cast<std::size_t>(flags.repeat * flags.seeds);
    output.print(cluster_script(flags.cluster, points.size() * of_each));
    return 0;
  }
  output.print(
      dry_run_text(flags.study.command, handed(flags.study.command.options, points.front())));
  output.print(fmt::format("{:<10}{}, {} time{} each\n", "points", points.size(), flags.repeat,
                           flags.repeat == 1 ? "" : "s"));
  return 0;
}

sweep::SweepOptions options_of(const SweepFlags& flags, const advise::Request& request,
                               const StudyWorkload& opened) {
  sweep::SweepOptions options;
  options.points = grid(request, opened.base);
  options.repeat = flags.repeat;
  options.seed = flags.study.native.options.seed;
  if (flags.trains())
    for (int i = 0; i < flags.seeds; ++i)
      options.seeds.push_back(options.seed + static_cast<std::uint64_t>(i));
  if (!flags.force) options.limits = advise::limits_of(request, opened.facts);
  options.loop.measure = opened.measure;
  options.loop.measure.reads_energy = flags.study.tried.contains(power_limits_key);
  // The trials of a point are averaged: together they reach the requested precision.
  options.loop.measure.precision =
      flags.study.precision * std::sqrt(static_cast<double>(flags.repeat));
  options.loop.budget = flags.study.budget;
  return options;
}

// `where`: an exclusive writer, or a shared study.
template <class Where>
study::Result run(const StudyWorkload& opened, const advise::Request& request,
                  const sweep::SweepOptions& options, Where& where, study::Observer& observer) {
  if (opened.training)
    return sweep::sweep(*opened.training, static_cast<int>(*request.epochs), where, options,
                        observer, CountSignals::presses());
  return sweep::sweep(*opened.workload, where, options, observer, CountSignals::presses());
}

template <class Where>
study::Result run_live(const SweepFlags& flags, const StudyWorkload& opened,
                       const advise::Request& request, const sweep::SweepOptions& options,
                       Where& where) {
  const auto trials_of_each = static_cast<std::size_t>(flags.repeat * flags.seeds);
  LiveStudy live({"sweeping " + opened.title, flags.study.precision,
                  options.points.size() * trials_of_each, flags.study.tolerance,
                  flags.study.verbose});
  return run(opened, request, options, where, live);
}

// Six heartbeats may be lost before a worker is considered lost.
sweep::Shared shared(store::Queue& queue, const store::Store& store, const SweepFlags& flags) {
  return {queue, store, flags.queue.lost_after / 6};
}

// A sweep that has ended, and the study that has it.
struct Swept {
  study::Result result;
  trial::Study study;  // without this run's trials
  std::string note;
};

Swept sweep_as_asked(const SweepFlags& flags, const StudyWorkload& opened,
                     const advise::Request& request, const sweep::SweepOptions& options,
                     store::Store& store) {
  const trial::StudyKey study_key = advise::study_key(opened.title, request);
  if (flags.cluster.given()) {
    study::Observer nobody;
    ClusterSweep found = sweep_on_cluster(
        flags.cluster, flags.study, opened, study_key, options, store,
        [&](store::Writer& whole) { return run(opened, request, options, whole, nobody); });
    if (!found.study)
      found.study = {.study_key = study_key, .environment = store_environment(opened)};
    return {std::move(found.result), *std::move(found.study), std::move(found.note)};
  }
  if (flags.shared) {
    const auto queue = store.join_study(study_key, store_environment(opened), flags.queue);
    const sweep::Shared where = shared(*queue, store, flags);
    return {run_live(flags, opened, request, options, where), queue->writer().study(), ""};
  }
  const auto writer = open_study(store, study_key, opened, flags.study);
  return {run_live(flags, opened, request, options, *writer), writer->study(), ""};
}

int sweep(const SweepFlags& flags, Output& output) {
  const std::optional<ClusterTask> task = cluster_task();
  if (flags.study.command.dry_run && !task) return show_plan(flags, output);
  check_exports(flags.study);
  const std::unique_ptr<store::Store> store = store::open_store(store::store_url(flags.study.db));
  const StudyWorkload opened =
      flags.trains() ? open_training(flags.study, flags.sharpness) : open_workload(flags.study);
  const advise::Request request = request_of(flags, opened);
  const Limited limited = limit_power(flags.study, opened);
  if (!limited.refusal.empty()) throw core::InputError(limited.refusal);
  sweep::SweepOptions options = options_of(flags, request, opened);
  options.loop.power_limits = limited.guard.get();
  const CountSignals signals;
  if (flags.cluster.given() && task)
    return run_cluster_task(*task, flags.study, opened, advise::study_key(opened.title, request),
                            options, static_cast<int>(request.epochs.value_or(0)));
  Swept swept = sweep_as_asked(flags, opened, request, options, *store);
  std::function<void(const workload::Until&)> finish;
  if (opened.workload) finish = opened.workload->finish();
  const std::vector<std::int64_t> epochs =
      flags.trains() ? epochs_of(flags) : std::vector<std::int64_t>{};
  const int code = show_run(flags.study, shown_run(*store, swept.study, swept.result),
                            {.epochs = epochs, .note = swept.note}, output);
  if (finish) finish({CountSignals::presses()});
  return code;
}

void range_flag(CLI::App& app, const char* flag, std::string& target, const char* help) {
  app.add_option(flag, target, help)->type_name("RANGE")->capture_default_str();
}

}  // namespace

void add_sweep(CLI::App& app, Action& chosen, const std::vector<std::string>& program,
               const std::vector<std::string>& given) {
  CLI::App* command = app.add_subcommand("sweep", "measure every point of a grid of settings");
  const auto flags = std::make_shared<SweepFlags>();
  range_flag(*command, "--batch", flags->batches,
             "batches: 128 or 16,32,64 or 16..4096*2 or 100..1000+100");
  add_study_flags(*command, flags->study);
  add_either_workload_flags(*command, flags->study);
  command->remove_option(command->get_option("--accumulation"));
  command->remove_option(command->get_option("--workers"));
  command->remove_option(command->get_option("--precision"));
  range_flag(*command, "--accumulation", flags->accumulations, "micro-batches per weight update");
  range_flag(*command, "--workers", flags->workers, "threads that load batches [1]");
  text_flag(*command, "--precision", "NAMES",
            "auto (the fastest whose loss agrees with fp32's), or some of fp32, tf32, bf16, "
            "fp16, such as fp32,bf16",
            [flags](const std::string& text) { read_precisions(text, flags->study); })
      ->default_str(flags->study.native.precision);
  command->add_flag("--force", flags->force,
                    "also launch what is predicted not to fit into memory");
  CLI::Option* shared_flag =
      command->add_flag("--shared", flags->shared,
                        "claim points that no other process has: run the same command, with one "
                        "store, on any number of equal machines");
  shared_flag->excludes(command->get_option("--fresh"));
  add_cluster_flags(*command, flags->cluster);
  shared_flag->excludes(command->get_option("--cluster"));
  text_flag(*command, "--lost-after", "TIME",
            "with --shared: a process without a heartbeat for this long is considered lost, and "
            "another takes its point [60s]",
            [flags](const std::string& text) {
              flags->queue.lost_after = core::parse_duration(text, "--lost-after");
              if (flags->queue.lost_after.count() <= 0)
                throw core::InputError("--lost-after must be positive, such as 60s");
            })
      ->needs(shared_flag);
  whole_flag(*command, "--repeat", flags->repeat, {1, 1000}, "trials of each point, in rounds");
  CLI::Option* epochs =
      command
          ->add_option("--epochs", flags->epochs,
                       "train, and show accuracy and time after each of these epochs: 5 or 1..5")
          ->type_name("RANGE");
  CLI::Option* seeds = whole_flag(*command, "--seeds", flags->seeds, {1, 1000},
                                  "with --epochs: runs per point, with seeds from --seed on")
                           ->needs(epochs);
  CLI::Option* sharpness = command
                               ->add_flag("--sharpness", flags->sharpness,
                                          "with --epochs: the sharpness of the loss where each run "
                                          "ends, and the gap between its test and training loss")
                               ->needs(epochs);
  for (CLI::Option* option : {epochs, seeds, sharpness})
    flags->study.command.native_only.push_back(option);
  command->footer(
      "\nExamples:\n  sweetspot sweep --batch 16..1024*2 --workers 0,1,2 --repeat 3\n"
      "  sweetspot sweep --batch 100..1000+100 --epochs 1..5 --seeds 3\n"
      "  sweetspot sweep --batch 32..2048*4 --epochs 5 --seeds 3 --sharpness");
  command->callback([&chosen, &program, &given, flags] {
    flags->study.command.options.argv = program;
    flags->cluster.arguments = given;
    chosen = [flags](Output& output) {
      settle_gpus(flags->study.command.options);
      return sweep(*flags, output);
    };
  });
}

}  // namespace sweetspot::cli
