#include "tuning/tune.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/commands/cluster.h"
#include "cli/commands/commands.h"
#include "cli/commands/tune_flags.h"
#include "cli/commands/tune_to_target.h"
#include "cli/flags/flags.h"
#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/show_run.h"
#include "cli/signals.h"
#include "cli/study_workload.h"
#include "cli/variants.h"
#include "core/error.h"
#include "core/number.h"
#include "store/store.h"
#include "workload/command/template.h"
#include "workload/native/ranked_workload.h"

namespace sweetspot::cli {
namespace {

constexpr double usual_slower_at_most = 0.1;  // how much slower an energy-saving answer may be

// Runs of a batch that matters, unless --repeat is given.
constexpr int usual_runs = 2;

// What may be tried: from the flags, the accumulation and the data set.
search::Limits limits_of(const TuneFlags& flags, const StudyWorkload& opened) {
  search::Limits limits;
  limits.objective = flags.objective;
  limits.multiple_of =
      std::lcm(flags.multiple_of, opened.base.accumulation * opened.ranks * opened.batch_parts);
  limits.min = (flags.min + limits.multiple_of - 1) / limits.multiple_of * limits.multiple_of;
  limits.max = flags.max.value_or(core::most_batch);
  if (const auto samples = opened.workload->about().samples)
    limits.max = std::min(limits.max, *samples);
  if (flags.global_batch) {  // sizes are micro-batches then
    limits.divisor_of = *flags.global_batch;
    limits.max = std::min(limits.max, *flags.global_batch);
    limits.multiple_of = std::lcm(flags.multiple_of, opened.ranks * opened.batch_parts);
  }
  const std::int64_t most = limits.max;
  limits.max = limits.max / limits.multiple_of * limits.multiple_of;
  limits.tolerance = flags.objective == search::Objective::energy
                         ? flags.slower_at_most.value_or(usual_slower_at_most)
                         : flags.study.tolerance;
  if (flags.repeat) limits.passes = static_cast<int>(*flags.repeat);
  if (limits.max < limits.min)
    throw core::InputError(fmt::format(
        "there is no batch to try from {} to {}{}; change --min, --max or --multiple-of", flags.min,
        most, limits.multiple_of > 1 ? fmt::format(" in steps of {}", limits.multiple_of) : ""));
  return limits;
}

// Before anything is measured. The GPU of a program is unknown by then: any one is enough.
void check_energy(const StudyWorkload& opened, bool of_program, const TargetFlags& towards) {
  const auto can_be_read = [](const std::string& device) {
    const auto meter = telemetry::this_machine().meter(device);
    return meter && meter->energy_joules();
  };
  const std::string device = opened.workload->device();
  const auto tells = [](const auto& gpu) { return gpu->energy_joules().has_value(); };
  if (can_be_read(device) || (of_program && std::ranges::any_of(probe::gpu::find().gpus, tells)))
    return;
  const std::string_view metric = towards.target ? trial::name(towards.target->metric) : "";
  const std::string goal =
      towards.target ? fmt::format("--for energy-to-{}", metric) : "--for energy";
  const std::string way_out =
      towards.target ? fmt::format("--for {} counts seconds instead", metric) : "leave it out";
  throw core::InputError(
      !trial::on_gpu(device)
          ? fmt::format("{}: this machine does not report its energy (there is no GPU that does, "
                        "and /sys/class/powercap has no CPU package that this user may read); {}",
                        goal, way_out)
          : fmt::format("{}: {} does not report its energy; {}", goal, device, way_out));
}

advise::Request request_of(const TuneFlags& flags, const StudyWorkload& opened,
                           const Limited& limited) {
  advise::Request request = request_of(flags.study, opened, advise::Request::Kind::tune);
  const memory::Limits memory = request.limits.memory;
  request.limits = limits_of(flags, opened);
  request.limits.memory = memory;
  request.repeat = request.limits.passes.value_or(usual_runs);
  request.tried = checked_tried(flags.study, opened);
  if (!limited.guard) request.tried.erase(power_limits_key);
  return request;
}

int show_plan(const TuneFlags& flags, Output& output) {
  if (flags.cluster.given()) {
    output.print(cluster_script(flags.cluster, 1));
    return 0;
  }
  trial::Setting setting;
  setting.batch = flags.global_batch.value_or(flags.min);  // the one with the least memory
  setting.configuration.workers = flags.study.native.options.pipeline.workers;
  setting.configuration.precision = flags.study.native.precision;
  const workload::command::Options& program = flags.study.command.options;
  if (!flags.global_batch)
    setting.batch = std::max<std::int64_t>(setting.batch, program.ranks_of_batch());
  output.print(dry_run_text(flags.study.command, handed(program, setting)));
  output.print(fmt::format(
      "{:<10}searched from {}{}, each trial until its throughput is known to {:g}%\n",
      flags.global_batch ? "micro-batch" : "batch", flags.min,
      flags.max ? fmt::format(" to {}", *flags.max) : " upwards", 100 * flags.study.precision));
  return 0;
}

advise::Facts facts_of(const TuneFlags& flags, const StudyWorkload& opened,
                       const Limited& limited) {
  advise::Facts facts;
  facts.roofline = opened.facts.roofline, facts.cost = opened.facts.cost;
  facts.global_batch = flags.global_batch;
  facts.ranks = opened.ranks;
  // For a target, each batch gets the rate that it is trained with there.
  if (!flags.target.target) facts.rate_base = learning_rate_base(flags.learning_rate, flags.study);
  facts.gpus = flags.study.command.options.gpus;
  facts.batch_is = flags.study.command.options.batch_is;
  facts.notes = opened.reasons;
  if (!limited.refusal.empty()) facts.notes.push_back(limited.refusal);
  return facts;
}

study::LoopOptions loop_options(const TuneFlags& flags, const StudyWorkload& opened,
                                const Limited& limited) {
  constexpr double share_for_speeds = 0.25;  // of the budget, before runs to a target
  study::LoopOptions loop;
  loop.power_limits = limited.guard.get();
  loop.measure = opened.measure;
  // The trials of a batch are averaged: together they reach the requested precision.
  loop.measure.precision =
      flags.study.precision * std::sqrt(static_cast<double>(flags.repeat.value_or(usual_runs)));
  loop.measure.first_look = !flags.repeat;
  loop.measure.reads_energy = flags.objective == search::Objective::energy;
  loop.budget = flags.study.budget;
  if (flags.target.target && flags.study.budget)
    loop.budget = share_for_speeds * *flags.study.budget;
  return loop;
}

// References to what is opened: for a part of its life.
tuning::TuneOptions options_of(const TuneFlags& flags, const StudyWorkload& opened,
                               const Limited& limited, const advise::Request& request) {
  tuning::TuneOptions options;
  options.limits = advise::limits_of(request, opened.facts);
  options.base = opened.base;
  options.variants = trial::variants_of(opened.base, request.tried);
  options.facts = facts_of(flags, opened, limited);
  options.operations_roofline = opened.operations_roofline;
  options.most_workers = opened.most_workers;
  options.confirm = flags.confirm;
  options.check_rate = flags.learning_rate.check;
  options.loop = loop_options(flags, opened, limited);
  options.command = [&](const trial::Setting& setting) {
    const std::string line = report::command_at(opened.command, opened.handed(setting));
    if (!setting.configuration.power_limit_watts || line.empty()) return line;
    return limit_command(limited.gpus, *setting.configuration.power_limit_watts) + " && " + line;
  };
  return options;
}

// Where the trials run and are stored: here, or as tasks of a cluster.
struct Place {
  std::unique_ptr<ClusterTune> cluster;
  std::unique_ptr<store::Writer> writer;
};
Place place_of(const TuneFlags& flags, const StudyWorkload& opened,
               const trial::StudyKey& study_key, store::Store& store,
               tuning::TuneOptions& options) {
  if (!flags.cluster.given()) return {nullptr, open_study(store, study_key, opened, flags.study)};
  auto cluster = std::make_unique<ClusterTune>(flags.cluster, flags.study, opened, store);
  trial::Setting first = opened.base;
  first.batch = std::lcm(options.limits.min, first.accumulation);
  auto writer = cluster->open(study_key, first, flags.study.fresh);
  options.limits.memory.limit.reset();  // of this machine: a task applies its own
  options.loop.run_elsewhere = [on = cluster.get()](const trial::Setting& setting, const auto&,
                                                    const auto&, const workload::Until& until) {
    return on->run(setting, until.stop);
  };
  return {std::move(cluster), std::move(writer)};
}

tuning::TuneResult tune_live(const TuneFlags& flags, const StudyWorkload& opened,
                             const Place& place, const tuning::TuneOptions& options) {
  LiveStudy live({"tuning " + opened.title,
                  flags.study.precision,
                  {},
                  options.limits.tolerance,
                  flags.study.verbose});
  workload::Workload& workload = place.cluster ? place.cluster->workload() : *opened.workload;
  return tuning::tune(workload, *place.writer, options, live, CountSignals::presses());
}

bool leads_to_target(const TuneFlags& flags, const tuning::TuneResult& result) {
  using trial::End;
  return flags.target.target && result.recommendation() &&
         (result.answer.end == End::found || result.answer.end == End::budget);
}

int show(const TuneFlags& flags, const StudyWorkload& opened, const tuning::TuneResult& result,
         const store::Store& store, const trial::Study& study, Output& output) {
  std::optional<advise::RankPlan> plan;
  if (!flags.plan.ranks.empty() && result.recommendation())
    plan = plan_of(flags.plan, flags.study, *result.recommendation(), result.trials,
                   opened.workload->about().samples);
  return show_run(flags.study, shown_run(store, study, result),
                  {.page = !flags.no_report, .plan = plan ? &*plan : nullptr}, output);
}

int tune(const TuneFlags& flags, Output& output) {
  if (flags.critical.asked) return tune_critical_batch(flags.study, flags.critical, output);
  check_global_batch(flags);
  check_objective(flags);
  check_target(flags);
  check_plan(flags.plan, flags.study);
  const std::optional<ClusterTask> task = cluster_task();
  if (flags.study.command.dry_run && !task) return show_plan(flags, output);
  check_exports(flags.study);
  const std::unique_ptr<store::Store> store = store::open_store(store::store_url(flags.study.db));
  const StudyWorkload opened = open_workload(flags.study);
  const Limited limited = limit_power(flags.study, opened);
  if (!limited.refusal.empty())  // energy is still reported
    Output::talk(fmt::format("sweetspot: {}", limited.refusal));
  const advise::Request request = request_of(flags, opened, limited);
  if (flags.objective == search::Objective::energy)
    check_energy(opened, flags.study.command.given(), flags.target);
  tuning::TuneOptions options = options_of(flags, opened, limited, request);
  const trial::StudyKey study_key = advise::study_key(opened.title, request);
  const CountSignals signals(opened.ranks > 1);
  if (flags.cluster.given() && task)
    return run_cluster_task(*task, flags.study, opened, study_key,
                            {.limits = options.limits, .loop = options.loop}, 0);
  Place place = place_of(flags, opened, study_key, *store, options);
  const tuning::TuneResult result = tune_live(flags, opened, place, options);
  const auto finish = opened.workload->finish();
  const bool goes_on = leads_to_target(flags, result);
  if (goes_on) place.writer.reset();
  const int code = goes_on ? 0 : show(flags, opened, result, *store, place.writer->study(), output);
  finish({CountSignals::presses()});
  return goes_on ? tune_to_target({flags, request, options, result}, *store, output) : code;
}

// Before ranks are started, and in each of them: checks what they do not support.
void check_ranks(const TuneFlags& flags) {
  const auto refuse = [](bool holds, const char* what) {
    if (holds)
      throw core::InputError(
          fmt::format("ranks measure the speed of a native model together; leave out {}, or "
                      "--ranks",
                      what));
  };
  refuse(flags.critical.asked, "--critical-batch");
  refuse(flags.target.target.has_value(), "the target of --for");
  refuse(flags.cluster.given(), "--cluster");
  refuse(flags.study.workload != "native", "--workload");
  refuse(flags.study.tried.contains("precision"), "--precisions");
  refuse(!flags.plan.ranks.empty(), "--plan-ranks, which predicts from one alone");
  check_global_batch(flags);
  check_objective(flags);
  check_plan(flags.plan, flags.study);
}

TuneFlags flags_of_rank(const TuneFlags& flags, collective::Group* group) {
  TuneFlags of_rank = flags;
  of_rank.study.native = flags_of_rank(flags.study.native, flags.ranks, group);
  return of_rank;
}

// With the flags of a rank.
workload::native::Run open_as_rank(const TuneFlags& flags, const workload::native::Say& say) {
  workload::native::Options options = flags.study.native.resolved();
  options.pipeline.batch = options.accumulation * options.parts();
  return workload::native::open(options, say);
}

// The first rank tunes, and the others make its steps with it.
int tune_as_rank(TuneFlags flags, Output& output) {
  NativeFlags& native = flags.study.native;
  const JoinedGpus gpus = join_gpus(flags.ranks, native.resolved().device, native.options.ranks);
  if (native.options.ranks.is_first()) return tune(flags, output);
  const StopOnSignal stop(true);
  workload::native::follow_first_rank(open_as_rank(flags, [](std::string_view) {}));
  return 0;
}

int tune_with_ranks(const TuneFlags& flags, const std::vector<std::string>& given, Output& output) {
  if (flags.study.command.given() && flags.ranks.ranks > 1)
    throw core::InputError(
        "a program starts ranks of its own, which sweetspot tunes as one; leave out --ranks, and "
        "write for example sweetspot tune -- torchrun --nproc-per-node 4 train.py --batch-size "
        "{batch}");
  if (flags.study.command.given() || flags.study.command.dry_run || cluster_task())
    return tune(flags, output);
  return run_ranks(flags.ranks, {given,
                                 [&](collective::Group& group) {
                                   check_ranks(flags);
                                   open_as_rank(flags_of_rank(flags, &group), Output::talk);
                                 },
                                 [&](collective::Group* group) {
                                   if (!group) return tune(flags, output);
                                   check_ranks(flags);
                                   return tune_as_rank(flags_of_rank(flags, group), output);
                                 }});
}

}  // namespace

void add_tune(CLI::App& app, Action& chosen, const std::vector<std::string>& program,
              const std::vector<std::string>& given) {
  CLI::App* command =
      app.add_subcommand("tune", "find the batch size to train with, and explain it");
  const auto flags = std::make_shared<TuneFlags>();
  add_tune_flags(*command, flags);
  command->footer(
      "\nExamples:\n"
      "  sweetspot tune --model rgb64-cnn --memory-limit 2GiB --multiple-of 8\n"
      "  sweetspot tune --critical-batch --after 2\n"
      "  sweetspot tune --ranks 2\n"
      "  sweetspot tune --threads 1 --plan-ranks 1..4096 --link 400Gb/s,2us\n"
      "  sweetspot tune -- python train.py --batch-size {batch} --workers {workers}\n"
      "  sweetspot tune --template config.yaml --set train.batch_size={batch} -- python train.py "
      "--config {config}\n"
      "  sweetspot tune --for energy --slower-at-most 5% --power-limits 300W,500W,700W -- python "
      "train.py --batch-size {batch}\n"
      "  sweetspot tune --for accuracy=0.99 --seeds 5 --budget 10m\n"
      "  sweetspot tune --scratch --env BATCH_SIZE={batch} -- ./train.sh\n"
      "  sweetspot tune --global-batch 512 -- python train.py --micro-batch {micro_batch} "
      "--accumulate {accumulation}");
  command->callback([&chosen, &program, &given, flags, command] {
    flags->study.command.options.argv = program;
    if (flags->target.target) flags->study.command.options.metric = flags->target.target->metric;
    flags->target.rule = flags->critical.rule = flags->learning_rate.rule;
    flags->target.base_batch = flags->learning_rate.batch.value_or(flags->target.base_batch);
    flags->cluster.arguments = given;
    if (flags->critical.asked) check_critical_batch(*command);
    chosen = [flags, given](Output& output) {
      settle_gpus(flags->study.command.options);
      return tune_with_ranks(*flags, given, output);
    };
  });
}

}  // namespace sweetspot::cli
