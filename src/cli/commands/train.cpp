#include "workload/native/train.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands/commands.h"
#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/flags/native_flags.h"
#include "cli/live/live_line.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/signals.h"
#include "core/error.h"
#include "core/json_values.h"
#include "core/text.h"
#include "probe/proc/host.h"
#include "report/table.h"
#include "workload/native/precision.h"

namespace sweetspot::cli {
namespace {

namespace native = workload::native;
using Json = nlohmann::ordered_json;

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}%", 100 * *share) : std::string(report::unknown);
}

std::string number(const std::optional<double>& value) {
  if (!value) return std::string(report::unknown);
  if (std::isnan(*value)) return "NaN";  // fmt writes -nan
  constexpr double wide = 1e6;           // of a training that diverges
  return std::abs(*value) < wide ? fmt::format("{:.4f}", *value) : fmt::format("{:.3g}", *value);
}

// "412", "2.2k", "14k": the table has the order of magnitude, and --json the number.
std::string in_short(double samples) {
  if (samples < 1000) return core::format_rounded(samples);
  return fmt::format("{:.{}f}k", samples / 1000, samples < 10'000 ? 1 : 0);
}

// "412 (350–490)", in samples; "> 350" while the interval has no upper end.
std::string noise_words(const native::EpochResult& e) {
  if (e.noise && e.noise->at_least) return fmt::format("> {}", in_short(*e.noise->at_least));
  if (!e.noise || !e.noise->samples) return std::string(report::unknown);
  const stats::Interval& samples = *e.noise->samples;
  return fmt::format("{} ({}–{})", in_short(samples.mean), in_short(samples.low),
                     in_short(samples.high));
}

// A column of the table of epochs.
struct EpochColumn {
  report::Column column;
  std::string (*cell)(const native::EpochResult&);
};

// With columns for a changing batch, and for a measured noise scale. What would not fit in 80
// columns is left out: --json has everything.
std::vector<EpochColumn> epoch_columns(bool noise_scale, bool batch_changes) {
  using E = const native::EpochResult&;
  std::vector<EpochColumn> list;
  const auto add = [&](report::Column column, std::string (*cell)(E)) {
    list.push_back({std::move(column), cell});
  };
  add({"epoch", false, 8},
      [](E e) { return e.complete ? std::to_string(e.epoch) : fmt::format("{} (part)", e.epoch); });
  if (batch_changes)
    add({"batch", false, 6}, [](E e) { return core::format_count(static_cast<double>(e.batch)); });
  add({"loss", false, 7}, [](E e) { return number(e.train_loss); });
  add({"test loss", false, 7}, [](E e) { return number(e.test_loss); });
  add({"test acc."}, [](E e) { return percent(e.test_accuracy); });
  if (!noise_scale || !batch_changes)
    add({"seconds", false, 7}, [](E e) { return fmt::format("{:.2f}", e.train_time.count()); });
  if (!noise_scale) {
    add({"samples/s", false, 9}, [](E e) { return core::format_count(e.samples_per_second()); });
    if (!batch_changes)
      add({"data wait"}, [](E e) { return fmt::format("{:.1f}%", 100 * e.data_wait_share()); });
  } else {
    add({"noise scale", false, 16}, noise_words);
  }
  return list;
}

// The table grows by a row per epoch; with --json it goes to stderr.
class Display : public native::Observer {
 public:
  Display(Output& output, bool json, const native::Options& options)
      : output_(output),
        json_(json),
        columns_(epoch_columns(options.noise_scale, options.batch_changes())),
        table_(titles()) {}

  void progress(const native::Progress& progress) override { line_.show(progress); }

  void epoch(const native::EpochResult& e) override {
    std::vector<std::string> row;
    for (const EpochColumn& column : columns_) row.push_back(column.cell(e));
    table_.add(std::move(row));
    line_.clear();
    if (!headed_) print(table_.head());
    headed_ = true;
    print(table_.last_row());
  }

 private:
  std::vector<report::Column> titles() const {
    std::vector<report::Column> list;
    for (const EpochColumn& column : columns_) list.push_back(column.column);
    return list;
  }

  void print(std::string text) {
    if (!json_) return output_.print(text);
    text.pop_back();
    Output::talk(text);
  }

  Output& output_;
  bool json_, headed_ = false;
  LiveLine line_;
  std::vector<EpochColumn> columns_;
  report::Table table_;
};

Json schedule_json(const native::Options& o) {
  if (o.schedule.empty()) return nullptr;
  Json stages = Json::array();
  for (const native::BatchStage& stage : o.schedule)
    stages.push_back({{"batch", stage.batch}, {"from_epoch", stage.from_epoch}});
  return stages;
}

Json setting_json(const native::Options& o, const engine::TrainerOptions& trainer) {
  const engine::Optimizer& optimizer = o.optimizer;
  return {{"batch", o.first_batch()},
          {"micro_batch", o.micro_batch(o.first_batch())},
          {"ranks", o.ranks.count()},
          {"asynchronous", o.ranks.asynchronous},
          {"gpu_sums", o.ranks.on_gpus ? Json(name(o.ranks.sums)) : Json(nullptr)},
          {"schedule", schedule_json(o)},
          {"accumulation", o.accumulation},
          {"precision", name(o.precision)},
          {"optimizer", name(optimizer.kind)},
          {"learning_rate", optimizer.learning_rate},
          {"loss", name(trainer.loss)},
          {"epochs", o.epochs},
          {"max_steps", o.max_steps},
          {"seed", o.seed},
          {"threads", o.threads},
          {"workers", o.pipeline.workers},
          {"prefetch", o.pipeline.prefetch},
          {"shuffle", o.pipeline.shuffle},
          {"cache", o.pipeline.cache},
          {"augment", o.pipeline.augment_shift ? Json("shift") : Json(nullptr)},
          {"load_delay_seconds", o.pipeline.delay.duration.count()},
          {"load_delay_per", o.pipeline.delay.per_sample ? "sample" : "batch"},
          {"drop_last", o.pipeline.drop_last}};
}

Json noise_json(const std::optional<convergence::NoiseEstimate>& noise) {
  if (!noise) return nullptr;
  Json samples = nullptr;
  if (noise->samples)
    samples = {{"mean", noise->samples->mean},
               {"low", noise->samples->low},
               {"high", noise->samples->high}};
  return {{"samples", samples},
          {"gradient_squared", noise->gradient_squared},
          {"variance_trace", noise->trace},
          {"at_least", noise->at_least},
          {"observations", noise->observations}};
}

// On GPUs the wait of a step in a graph is not known.
Json epoch_json(const native::EpochResult& e, const native::RankOptions& ranks) {
  return {{"epoch", e.epoch},
          {"complete", e.complete},
          {"steps", e.steps},
          {"samples", e.samples},
          {"batch", e.batch},
          {"noise_scale_at_least", e.noise_bound},
          {"train_loss", e.train_loss},
          {"train_accuracy", e.train_accuracy},
          {"test_loss", e.test_loss},
          {"test_accuracy", e.test_accuracy},
          {"train_seconds", e.train_time.count()},
          {"evaluation_seconds", e.evaluation_time.count()},
          {"samples_per_second", e.samples_per_second()},
          {"data_wait_share", e.data_wait_share()},
          {"reduction_wait_share",
           ranks.group && !ranks.on_gpus ? Json(e.reduction_wait_share()) : Json(nullptr)},
          {"noise_scale", noise_json(e.noise)}};
}

Json batch_json(const native::BatchChange& change) {
  return {{"from_epoch", change.from_epoch},
          {"batch", change.batch},
          {"learning_rate", change.learning_rate},
          {"noise_scale", change.noise_scale}};
}

Json memory_json(const native::Result& result) {
  Json memory{{"predicted", result.predicted.total()}, {"measured", result.measured.total()}};
  for (const core::Use use : uses) memory[std::string(name(use))] = result.measured[use];
  for (const core::Use use : uses)
    memory["predicted_by_use"][std::string(name(use))] = result.predicted[use];
  return memory;
}

Json result_json(const native::Run& run, const native::Result& result) {
  Json json = result_object();
  json["model"] = run.network.name;
  json["data"] = run.dataset.name;
  json["device"] = name(run.options.device);
  json["setting"] = setting_json(run.options, run.trainer);
  json["status"] = name(result.status);
  json["steps"] = result.steps;
  json["epochs"] = Json::array();
  for (const native::EpochResult& epoch : result.epochs)
    json["epochs"].push_back(epoch_json(epoch, run.options.ranks));
  json["batches"] = Json::array();
  for (const native::BatchChange& change : result.batches)
    json["batches"].push_back(batch_json(change));
  json["ladder"] = Json::array();
  for (const convergence::Rung& speed : result.speeds)
    json["ladder"].push_back(
        {{"batch", speed.batch}, {"samples_per_second", speed.samples_per_second}});
  json["staleness"] = run.options.ranks.asynchronous ? Json(result.staleness) : Json(nullptr);
  json["memory_bytes"] = memory_json(result);
  json["environment"] = environment(run.options.threads, run.options.device);
  return json;
}

std::string batch_words(const native::Options& o) {
  if (o.dynamic)
    return fmt::format("{}, growing to at most {}", o.first_batch(), o.batches().back());
  if (o.schedule.empty()) return std::to_string(o.batch());
  std::string words = std::to_string(o.first_batch());
  for (const native::BatchStage& stage : std::span(o.schedule).subspan(1))
    words += fmt::format(", {} after {:g} epoch{}", stage.batch, stage.from_epoch,
                         stage.from_epoch == 1 ? "" : "s");
  return words;
}

// A rank's part of a batch.
std::string parts_words(const native::Options& o) {
  const std::string ranks =
      o.ranks.group ? fmt::format(" on {} rank{}", o.ranks.count(), o.ranks.count() == 1 ? "" : "s")
                    : "";
  if (o.ranks.asynchronous) return fmt::format(" each{}, asynchronously", ranks);
  if (o.batch_changes() && o.accumulation > 1)
    return fmt::format("{} in {} parts", ranks, o.accumulation);
  if (o.batch_changes() || o.parts() * o.accumulation == 1) return ranks;
  return fmt::format(" as {}{} × {}", o.ranks.group ? fmt::format("{} ranks", o.parts()) : "",
                     o.accumulation == 1 ? ""
                     : o.ranks.group     ? fmt::format(" × {}", o.accumulation)
                                         : std::to_string(o.accumulation),
                     o.micro_batch());
}

void introduce(const native::Run& run) {
  const native::Options& o = run.options;
  Output::talk(fmt::format("training {} on {} ({} samples): batch {}{}, {} at {:g}, {}",
                           core::printable(run.network.name), core::printable(run.dataset.name),
                           core::format_count(static_cast<double>(run.dataset.train.count)),
                           batch_words(o), parts_words(o), name(o.optimizer.kind),
                           o.optimizer.learning_rate, device_words(o)));
  const int cores = probe::proc::usable_cores();
  const int threads = o.threads * (o.ranks.group ? o.ranks.group->local_size() : 1);
  if (!o.device.gpu && threads > cores)
    Output::talk(fmt::format("{} threads share {} core{}, which is slower than one each", threads,
                             cores, cores == 1 ? "" : "s"));
}

// "staleness: 0 for 55%, 1 for 45% of 600 updates"
std::string staleness_words(const std::vector<std::int64_t>& staleness) {
  const std::int64_t all = std::accumulate(staleness.begin(), staleness.end(), std::int64_t{0});
  std::string words;
  for (std::size_t late = 0; late < staleness.size(); ++late)
    if (staleness[late] > 0)
      words += fmt::format("{}{} for {:.1f}%", words.empty() ? "" : ", ", late,
                           100 * static_cast<double>(staleness[late]) / static_cast<double>(all));
  return fmt::format("staleness, in updates of other ranks: {} of {} updates", words,
                     core::format_count(static_cast<double>(all)));
}

// In the syntax of --batch.
std::vector<native::BatchStage> stages_of(const native::Result& result) {
  std::vector<native::BatchStage> stages;
  for (const native::BatchChange& change : result.batches)
    stages.push_back({change.batch, change.from_epoch});
  return stages;
}

int exit_code(const native::Run& run, const native::Result& result) {
  if (result.status == native::Status::diverged)
    throw core::InputError(fmt::format(
        "the loss became {} at step {} (epoch {}); choose a learning rate below --lr {:g}",
        std::isnan(result.last_loss) ? "NaN" : "infinite", result.steps, result.epochs.back().epoch,
        run.options.optimizer.learning_rate));
  // Among ranks, another one may have received it.
  if (result.status == native::Status::cancelled)
    return signal_exit + (StopOnSignal::stopped() != 0 ? StopOnSignal::stopped().load() : SIGTERM);
  return 0;
}

struct TrainFlags {
  NativeFlags native;
  RankFlags ranks;
};

// As one of these ranks, if there are any.
native::Options options_of(const TrainFlags& flags, collective::Group* group) {
  return flags_of_rank(flags.native, flags.ranks, group).resolved();
}

// The others print nothing: the first reports for all.
int train_rank(const native::Options& options) {
  native::Run run = native::open(options, [](std::string_view) {});
  native::Observer nobody;
  const StopOnSignal stop(true);
  native::train(run, nobody, StopOnSignal::stopped());
  return 0;
}

// The result says what was computed, also where bf16 was asked for.
std::optional<std::string> settle_precision_of_training(const NativeFlags& flags,
                                                        native::Run& run) {
  native::Options& o = run.options;
  if (auto reason = settle_precision(flags, run, o.batch())) return reason;
  if (o.device.gpu || o.precision != engine::Precision::bf16 || o.batch_changes())
    return std::nullopt;
  const auto reason = native::why_bf16_changes_nothing(run, o.batch());
  if (reason) o.precision = engine::Precision::fp32;
  return reason;
}

int train(const TrainFlags& train_flags, collective::Group* group, Output& output) {
  const NativeFlags& flags = train_flags.native;
  native::Options options = options_of(train_flags, group);
  const JoinedGpus gpus = join_gpus(train_flags.ranks, options.device, options.ranks);
  if (!options.ranks.is_first()) return train_rank(options);
  native::Run run = native::open(options, Output::talk);
  const auto reason = settle_precision_of_training(flags, run);
  if (reason) Output::talk(*reason);
  native::Result result;
  {
    const StopOnSignal stop(group != nullptr);
    introduce(run);
    Display display(output, flags.json, run.options);
    result = native::train(run, display, StopOnSignal::stopped());
  }
  if (!result.staleness.empty()) Output::talk(staleness_words(result.staleness));
  if (flags.json) {
    Json json = result_json(run, result);
    json["setting"]["precision_reason"] = reason;
    output.print_json(json);
  }
  if (run.options.dynamic) Output::talk("batches: " + native::text(stages_of(result)));
  Output::talk(fmt::format("memory: {} predicted, {} used",
                           core::format_bytes(result.predicted.total()),
                           core::format_bytes(result.measured.total())));
  if (run.options.save && result.status != native::Status::diverged)
    Output::talk(fmt::format("weights saved to {}", core::printable(run.options.save->string())));
  return exit_code(run, result);
}

}  // namespace

void add_train(CLI::App& app, Action& chosen, const std::vector<std::string>& given) {
  CLI::App* command = app.add_subcommand("train", "one training run, accuracy after each epoch");
  const auto flags = std::make_shared<TrainFlags>();
  add_training_flags(*command, flags->native);
  add_rank_flags(*command, flags->ranks);
  add_asynchronous_flags(*command, flags->ranks);
  command->add_flag(
      "--noise-scale", flags->native.options.noise_scale,
      "measure the gradient noise scale: the batch beyond which a sample is worth less");
  command->footer(
      "\nExamples:\n  sweetspot train --batch 256 --epochs 3 --save paper-cnn.safetensors\n"
      "  sweetspot train --batch 64@0,256@1,1024@3 --epochs 5\n"
      "  sweetspot train --batch dynamic\n"
      "  sweetspot train --batch 256 --ranks 2");
  command->callback([&chosen, flags, given] {
    chosen = [flags, given](Output& output) {
      return run_ranks(flags->ranks,
                       {given,
                        [&](collective::Group& group) {
                          native::open(options_of(*flags, &group), Output::talk);
                        },
                        [&](collective::Group* group) { return train(*flags, group, output); }});
    };
  });
}

}  // namespace sweetspot::cli
