#include "cli/study_workload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "advise/answer.h"
#include "cli/environment.h"
#include "cli/flags/fake_flags.h"
#include "cli/help/about.h"
#include "cli/output.h"
#include "cli/stored_study.h"
#include "core/error.h"
#include "core/json_values.h"
#include "core/text.h"
#include "model/counts.h"
#include "probe/proc/host.h"
#include "probe/proc/own_use.h"
#include "workload/command/libraries.h"
#include "workload/command/scratch.h"
#include "workload/command/template.h"
#include "workload/command/workload.h"
#include "workload/fake/fake.h"
#include "workload/native/identity.h"
#include "workload/native/memory.h"
#include "workload/native/ranked_workload.h"
#include "workload/native/workload.h"

namespace sweetspot::cli {

report::Command train_command(const NativeFlags& flags) {
  const NativeFlags usual;
  const auto &o = flags.options, &d = usual.options;
  report::Command command{{{"sweetspot", "train"}}};
  const collective::Group* group = o.ranks.group;
  const bool is_of_one_machine = group && group->size() == group->local_size();
  if (group && !is_of_one_machine)
    command = {{{"mpirun", "-n", std::to_string(group->size()), "sweetspot", "train"}}};
  const auto add = [&](bool needed, const char* flag, const std::string& value) {
    if (needed) command.push_back({{flag, value}});
  };
  const auto number = [&](const char* flag, const auto& value) {
    if (value) command.push_back({{flag, fmt::format("{}", *value)}});
  };
  const auto word = [&](bool needed, const char* flag) {
    if (needed) command.push_back({{flag}});
  };
  // What a setting may vary.
  const auto varied = [&](const char* flag, const char* placeholder, const auto& usual_value) {
    command.push_back({{flag, placeholder}, {flag, fmt::format("{}", usual_value)}});
  };
  add(o.model != d.model, "--model", o.model);
  add(!o.data.empty(), "--data", o.data);
  add(true, "--batch", "{batch}");
  add(is_of_one_machine && group->size() > 1, "--ranks", std::to_string(o.ranks.count()));
  varied("--accumulation", "{accumulation}", d.accumulation);
  add(o.optimizer.kind != d.optimizer.kind, "--optimizer", std::string(name(o.optimizer.kind)));
  if (o.loss) add(true, "--loss", std::string(name(*o.loss)));
  varied("--lr", "{lr}", usual_learning_rate(o.optimizer.kind));
  number("--momentum", flags.momentum);
  number("--weight-decay", flags.weight_decay);
  // Each rank has a GPU of its own.
  add(flags.device != usual.device, "--device",
      group && trial::on_gpu(flags.device) ? "cuda" : flags.device);
  varied("--precision", "{precision}", usual.precision);
  add(o.threads != d.threads, "--threads", std::to_string(o.threads));
  varied("--workers", "{workers}", d.pipeline.workers);
  varied("--prefetch", "{prefetch}", d.pipeline.prefetch);
  add(o.seed != d.seed, "--seed", std::to_string(o.seed));
  word(o.pipeline.cache, "--cache");
  word(!o.evaluate, "--no-eval");
  word(!o.pipeline.shuffle, "--no-shuffle");
  add(o.pipeline.augment_shift, "--augment", "shift");
  word(o.pipeline.drop_last, "--drop-last");
  if (const data::LoadDelay& delay = o.pipeline.delay; delay.duration.count() > 0)
    add(true, "--load-delay",
        fmt::format("{}us/{}", 1e6 * delay.duration.count(),
                    delay.per_sample ? "sample" : "batch"));
  return command;
}

namespace {

namespace native = workload::native;

// A program's start costs seconds, and its steps are visible a few times a second at most.
measure::MeasureOptions program_measure(const workload::command::Options& options) {
  measure::MeasureOptions measure;
  measure.max_time = core::Seconds(10), measure.max_warm_up = core::Seconds(10);
  measure.min_time = core::Seconds(1);
  if (options.samples_per_run) measure.min_steps = 3;
  return measure;
}

// What a trial does: sample steps, or train by epochs.
enum class Trials { steps, epochs };

StudyWorkload open_command(const StudyFlags& flags, Trials trials) {
  namespace command = workload::command;
  command::Options options = flags.command.options;
  StudyWorkload opened;
  opened.title = command::title(options);
  // Before the limit is set: free memory is not part of the study key.
  opened.identity = command::identity_json(options);
  options.memory_limit = host_memory_allowed(flags, probe::proc::memory().free);
  options.memory_limit_without_gpu = flags.memory_limit.any;
  opened.command = program_command(flags.command);
  opened.base.accumulation = flags.native.options.accumulation;
  opened.base.configuration.workers = flags.native.options.pipeline.workers;
  opened.base.configuration.precision = flags.native.precision;
  if (options.scratch &&
      !command::Scratch::can_overlay(command::trial_folder(options, {}).value_or(".")))
    opened.reasons.push_back(copied_words());
  for (const command::Library& seen : command::libraries_seen(options))
    opened.reasons.push_back(command::suggestion(seen));
  if (opened.base.configuration.precision == "auto")
    throw core::InputError(
        "--precision auto compares those of sweetspot's own engine; name one of the program's");
  opened.base.learning_rate = flags.native.learning_rate.value_or(opened.base.learning_rate);
  opened.threads = probe::proc::usable_cores();
  opened.measure = program_measure(options);
  opened.batch_parts = options.ranks_of_batch();
  opened.facts.memory_free = probe::proc::memory().free;
  if (options.caller) probe::proc::count_as_own(::getppid());
  if (command::used(options).contains("{workers}"))
    opened.most_workers = probe::proc::usable_cores();
  if (trials == Trials::epochs)
    opened.training = std::make_unique<command::CommandTraining>(std::move(options));
  else
    opened.workload = std::make_unique<command::CommandWorkload>(std::move(options));
  return opened;
}

StudyWorkload open_fake(const StudyFlags& flags, Trials trials) {
  namespace fake = workload::fake;
  StudyWorkload opened;
  if (trials == Trials::epochs)
    opened.training = std::make_unique<fake::FakeTraining>(parse_fake(flags.workload));
  else
    opened.workload = std::make_unique<fake::FakeWorkload>(parse_fake(flags.workload));
  opened.title = flags.workload;
  opened.facts.memory_free = probe::proc::memory().free;
  opened.identity = nlohmann::json(flags.workload).dump();
  return opened;
}

// At least, each activation is written forward and read backward.
constexpr double passes_over_activations = 2;

// The batch for comparing precisions before any is chosen: the paper's smallest.
std::int64_t comparison_batch(const native::Run& run) {
  constexpr std::int64_t usual = 100;
  const std::int64_t accumulation = run.options.accumulation;
  const auto samples = static_cast<std::int64_t>(run.dataset.train.count);
  return std::max(std::min(usual, samples) / accumulation, std::int64_t{1}) * accumulation;
}

// By powers of two: enough for a chart of memory over batches.
std::vector<std::pair<std::int64_t, core::MemoryByUse>> memory_of(const native::Run& run,
                                                                  Trials trials) {
  std::vector<std::pair<std::int64_t, core::MemoryByUse>> rows;
  constexpr std::int64_t largest = 1 << 16;
  native::Options options = run.options;
  if (trials == Trials::steps) options.evaluate = false;  // as they are sampled
  const std::int64_t most = std::min(largest, static_cast<std::int64_t>(run.dataset.train.count));
  const auto ranks_in_memory = static_cast<core::Bytes>(options.ranks_in_memory());
  for (std::int64_t batch = options.accumulation * options.parts(); batch <= most; batch *= 2) {
    options.pipeline.batch = batch;
    core::MemoryByUse memory = native::predict(run.network, options, run.dataset);
    for (core::Bytes& bytes : memory.bytes) bytes *= ranks_in_memory;
    rows.emplace_back(batch, memory);
  }
  return rows;
}

// A limit that would hold nowhere is a mistake.
void check_gpu_limit(bool asked, bool on_gpu) {
  if (asked && !on_gpu)
    throw core::InputError(
        "--memory-limit gpu=… has no GPU to apply to, as this model trains on the CPU; write "
        "host= in its place");
}

StudyWorkload open_native(const StudyFlags& flags, Trials trials, bool sharpness) {
  native::Options options = flags.native.resolved();
  check_gpu_limit(flags.memory_limit.gpu.has_value(), options.device.gpu.has_value());
  options.sharpness = sharpness;
  options.pipeline.batch =
      options.accumulation * options.parts();  // the smallest possible: the batch is searched
  native::Run run = native::open(options, Output::talk);
  StudyWorkload opened;
  if (const auto reason = settle_precision(flags.native, run, comparison_batch(run)))
    opened.reasons.push_back(*reason);
  const model::LayerCounts counts = model::total_counts(run.network);
  opened.title =
      fmt::format("{} on {}", core::printable(run.network.name), core::printable(run.dataset.name));
  opened.base = native::setting_of(run.options);
  opened.facts.cost = {static_cast<double>(counts.training_flops),
                       passes_over_activations * static_cast<double>(counts.activation_bytes)};
  opened.threads = options.threads;
  opened.ranks = options.ranks.count();
  if (opened.ranks > 1) opened.title += fmt::format(" ({} ranks)", opened.ranks);
  opened.device = options.device;
  opened.operations_roofline = device_roofline(run.options);
  if (options.device.gpu) {  // whose roofline is not measured
    opened.title += fmt::format(" ({} on {})", name(run.options.precision), name(options.device));
    opened.facts.memory_free = engine::cuda::free_memory(*options.device.gpu);
  } else {
    opened.facts.roofline = opened.operations_roofline;
    opened.facts.memory_free = probe::proc::memory().free;
  }
  opened.identity = native::identity_json(run, trials == Trials::epochs);
  opened.command = train_command(flags.native);
  opened.facts.memory = memory_of(run, trials);
  if (opened.ranks > 1)
    opened.workload = native::make_ranked_workload(std::move(run));
  else if (trials == Trials::epochs)
    opened.training = native::make_training(std::move(run));
  else
    opened.workload = native::make_workload(std::move(run));
  return opened;
}

StudyWorkload open_ours(const StudyFlags& flags, Trials trials, bool sharpness) {
  if (flags.workload == "native") return open_native(flags, trials, sharpness);
  if (flags.workload.starts_with("fake")) return open_fake(flags, trials);
  throw core::InputError(
      fmt::format("--workload '{}' is not known; use native", core::printable(flags.workload)));
}

StudyWorkload opened_as(const StudyFlags& flags, Trials trials, bool sharpness) {
  check_kind(flags.command);
  StudyWorkload opened =
      flags.command.given() ? open_command(flags, trials) : open_ours(flags, trials, sharpness);
  add_limits(flags, opened);
  return opened;
}

}  // namespace

StudyWorkload open_workload(const StudyFlags& flags) {
  return opened_as(flags, Trials::steps, false);
}

StudyWorkload open_training(const StudyFlags& flags, bool sharpness) {
  return opened_as(flags, Trials::epochs, sharpness);
}

void add_limits(const StudyFlags& flags, StudyWorkload& opened) {
  opened.facts.memory_limit =
      memory_allowed(flags, opened.facts.memory_free, opened.device.gpu.has_value());
  opened.facts.tolerance = flags.tolerance;
}

advise::Request request_of(const StudyFlags& flags, const StudyWorkload& opened,
                           advise::Request::Kind kind) {
  advise::Request request;
  request.kind = kind;
  request.workload = opened.identity;
  request.name = flags.name;
  request.limits.memory.limit = flags.memory_limit.any;
  request.host_memory_limit = flags.memory_limit.host;
  request.gpu_memory_limit = flags.memory_limit.gpu;
  request.memory_share = flags.memory_share;
  request.precision = flags.precision;
  const std::string version = SWEETSPOT_VERSION;
  request.program_major = version.substr(0, version.find('.'));
  request.machine = {probe::proc::cpu().model.value_or(""), probe::proc::usable_cores()};
  return request;
}

std::unique_ptr<store::Writer> open_study(store::Store& store, const trial::StudyKey& study_key,
                                          const StudyWorkload& opened, const StudyFlags& flags) {
  const trial::Environment environment = store_environment(opened);
  auto writer = store.open_study(study_key, environment, flags.fresh);
  const auto& before = writer->study().trials;
  const bool came_to_nothing =
      !before.empty() && std::ranges::none_of(before, [](const trial::Trial& trial) {
        return trial.outcome == trial::Outcome::ok;
      });
  const bool is_doubtful = !flags.command.options.batch_arrives &&
                           advise::answer_of(writer->study()).get<advise::Doubt>() != nullptr;
  if (!came_to_nothing && !is_doubtful) return removed_if_empty(store, std::move(writer));
  Output::talk(came_to_nothing
                   ? "no trial of the last run succeeded; measuring again"
                   : "the batch was not seen to arrive in the last run; measuring anew");
  writer->set_end(came_to_nothing ? trial::End::stopped : trial::End::finished);
  writer.reset();  // and its lock with it
  return removed_if_empty(store, store.open_study(study_key, environment, true));
}

trial::Environment store_environment(const StudyWorkload& opened) {
  const auto model = probe::proc::cpu().model.value_or("unknown CPU");
  std::string machine = fmt::format("{}, {} cores", model, probe::proc::usable_cores());
  if (opened.device.gpu) machine = fmt::format("{}; {}", opened.device.model, machine);
  nlohmann::ordered_json json = environment(opened.threads, opened.device);
  json[advise::run_facts_key] = nlohmann::ordered_json::parse(advise::to_json(opened.facts));
  return {version_line(), std::move(machine), core::json_text(json)};
}

}  // namespace sweetspot::cli
