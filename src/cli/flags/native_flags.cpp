#include "cli/flags/native_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/flags/flags.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "probe/proc/host.h"
#include "workload/native/precision.h"

namespace sweetspot::cli {
namespace {

namespace native = workload::native;

constexpr std::string_view asks_for_choice = "auto";

using Kind = engine::Optimizer::Kind;
constexpr Kind kinds[] = {Kind::sgd, Kind::momentum, Kind::nesterov, Kind::adam, Kind::adamw};
constexpr model::Loss losses[] = {model::Loss::sparse_categorical_crossentropy,
                                  model::Loss::categorical_crossentropy,
                                  model::Loss::mean_squared_error};

constexpr std::int64_t most_prefetch = 65'536;  // a guard against typing errors

template <class Values>
std::vector<std::string_view> names(const Values& values) {
  std::vector<std::string_view> words;
  for (const auto value : values) words.push_back(name(value));
  return words;
}

void real_flag(CLI::App& app, const std::string& flag, std::optional<double>& target,
               core::Bound least, core::Bound most, const std::string& help) {
  text_flag(app, flag, "X", help, [=, &target](const std::string& text) {
    target = core::parse_real(text, flag, least, most);
  });
}

void read_batch(const std::string& text, native::Options& options) {
  options.schedule.clear();
  options.dynamic.reset();
  if (native::asks_for_dynamic_batch(text)) {
    options.dynamic = native::parse_dynamic_batch(text);
    options.pipeline.batch = options.dynamic->ladder().back();
    return;
  }
  if (text.find('@') == std::string::npos) {
    options.pipeline.batch = core::parse_whole(text, "--batch", 1, most_batch);
    return;
  }
  options.schedule = native::parse_batch_schedule(text);
  options.pipeline.batch = std::ranges::max(options.schedule, {}, &native::BatchStage::batch).batch;
}

// An existing but unusable GPU is worth a message, if the choice was ours.
void explain_cpu(const engine::cuda::Availability& found) {
  if (found.devices.empty() && !probe::proc::nvidia_gpus().empty())
    Output::talk(fmt::format("the CPU is used: {}", found.reason));
}

native::Device device_for(const std::string& asked) {
  if (asked != "auto") return native::choose_device(asked);
  const engine::cuda::Availability found = engine::cuda::available();
  explain_cpu(found);
  return native::choose_device(asked, found);
}

}  // namespace

bool is_adaptive(Kind kind) { return kind == Kind::adam || kind == Kind::adamw; }

double usual_learning_rate(Kind kind) { return is_adaptive(kind) ? 0.001 : 0.01; }

NativeFlags::NativeFlags() { options.threads = probe::proc::usable_cores(); }

void add_memory_flags(CLI::App& app, NativeFlags& flags) {
  workload::native::Options& o = flags.options;
  app.add_option("--model", o.model, "a model of the zoo, or a Keras JSON file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  app.add_option(
         "--data", o.data,
         "mnist, fashion-mnist, kmnist, cifar10, synthetic, synthetic:COUNT, or a folder of IDX "
         "files or CIFAR-10 batches [by the model]")
      ->type_name("NAME|DIR");
  whole_flag(app, "--accumulation", o.accumulation, {1},
             "micro-batches per weight update; must divide the batch");
  text_flag(app, "--optimizer", "NAME", fmt::format("{}", fmt::join(names(kinds), ", ")),
            [&o](const std::string& word) {
              o.optimizer.kind = kinds[index_of(word, names(kinds), "--optimizer")];
            })
      ->default_str(std::string(name(o.optimizer.kind)));
  text_flag(
      app, "--loss", "NAME", fmt::format("{} [by the model]", fmt::join(names(losses), ", ")),
      [&o](const std::string& word) { o.loss = losses[index_of(word, names(losses), "--loss")]; });
  app.add_option("--device", flags.device,
                 "cpu, cuda, cuda:N, or auto: the GPU if one can be used, else the CPU")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--precision", flags.precision,
                 "fp32, tf32, bf16, fp16 (a CPU has fp32 and perhaps bf16), or auto: the fastest "
                 "whose loss agrees with fp32's")
      ->type_name("NAME")
      ->capture_default_str();
  whole_flag(app, "--threads", o.threads, {1, most_threads}, "threads that compute on the CPU");
  whole_flag(app, "--workers", o.pipeline.workers, {0, most_threads},
             "threads that load batches; 0: the trainer's own thread");
  whole_flag(app, "--prefetch", o.pipeline.prefetch, {1, most_prefetch},
             "batches that may be loaded ahead");
  app.add_flag("--cache", o.pipeline.cache, "keep converted samples in memory");
  app.add_flag_callback(
      "--no-eval", [&o] { o.evaluate = false; }, "do not evaluate on the test split");
  app.add_flag("--json", flags.json, "the result as one JSON object on stdout");
}

void add_workload_flags(CLI::App& app, NativeFlags& flags) {
  workload::native::Options& o = flags.options;
  add_memory_flags(app, flags);
  real_flag(app, "--lr", flags.learning_rate, {0, false}, {1e6},
            "learning rate [0.001 for adam and adamw, 0.01 for the others]");
  real_flag(app, "--momentum", flags.momentum, {0}, {1, false}, "for momentum and nesterov [0.9]");
  real_flag(app, "--weight-decay", flags.weight_decay, {0}, {1e6}, "for adamw [0.01]");
  text_flag(app, "--seed", "N", "seed of weights, shuffles and dropout",
            [&o](const std::string& text) {
              o.seed = static_cast<std::uint64_t>(core::parse_whole(text, "--seed", 0));
            })
      ->default_str(std::to_string(o.seed));
  app.add_flag_callback(
      "--shuffle", [&o] { o.pipeline.shuffle = true; },
      "shuffle the samples each epoch (the default)");
  app.add_flag_callback(
      "--no-shuffle", [&o] { o.pipeline.shuffle = false; }, "keep the order of the samples");
  text_flag(app, "--augment", "KIND", "shift: move each image by up to two pixels",
            [&o](const std::string& word) {
              index_of(word, {"shift"}, "--augment");
              o.pipeline.augment_shift = true;
            });
  text_flag(app, "--load-delay", "TIME", "simulate slow storage: 1ms, 20ms/batch, 50us/sample",
            [&o](const std::string& text) { o.pipeline.delay = data::parse_load_delay(text); });
  app.add_flag("--drop-last", o.pipeline.drop_last, "skip an epoch's last, smaller batch");
}

void learning_rate_rule_flag(CLI::App& app, std::optional<convergence::LearningRateRule>& rule) {
  text_flag(app, "--lr-rule", "NAME",
            "how the learning rate scales with the batch: none, linear, square-root, adascale, "
            "surge [by the optimizer]",
            [&rule](const std::string& word) {
              rule = convergence::learning_rate_rule(word);
              if (!rule)
                throw core::InputError(
                    fmt::format("--lr-rule '{}' is not known; choose one of none, linear, "
                                "square-root, adascale, surge",
                                core::printable(word)));
            });
}

void add_training_flags(CLI::App& app, NativeFlags& flags) {
  workload::native::Options& o = flags.options;
  text_flag(app, "--batch", "N|SCHEDULE",
            "samples per weight update; a schedule, 64@0,256@1,1024@3: batch 64 at first, 256 "
            "after one epoch, 1024 after three; or dynamic, dynamic:32..1024: grows with the "
            "gradient's noise scale while that makes progress faster",
            [&o](const std::string& text) { read_batch(text, o); })
      ->default_str(std::to_string(o.batch()));
  add_workload_flags(app, flags);
  whole_flag(app, "--epochs", o.epochs, {1, most_epochs}, "passes over the training samples");
  learning_rate_rule_flag(app, o.learning_rate_rule);
  text_flag(
      app, "--max-steps", "N", "end after this many weight updates",
      [&o](const std::string& text) { o.max_steps = core::parse_whole(text, "--max-steps", 1); });
  app.add_option("--save", o.save, "write the weights here at the end (safetensors)")
      ->type_name("FILE");
  app.add_option("--load", o.load, "start from these weights (safetensors)")->type_name("FILE");
}

std::string device_words(const native::Options& o) {
  if (!o.device.gpu)
    return fmt::format("{}{} thread{}", o.precision == engine::Precision::fp32 ? "" : "bf16 on ",
                       o.threads, o.threads == 1 ? "" : "s");
  return fmt::format("{} on {} ({})", name(o.precision), name(o.device), o.device.model);
}

std::optional<std::string> settle_precision(const NativeFlags& flags, native::Run& run,
                                            std::int64_t batch) {
  if (flags.precision != asks_for_choice) return std::nullopt;
  const native::PrecisionChoice choice = native::choose_precision(run, batch);
  run.options.precision = choice.precision;
  return choice.reason;
}

workload::native::Options NativeFlags::resolved() const {
  workload::native::Options o = options;
  const Kind kind = o.optimizer.kind;
  if (momentum && kind != Kind::momentum && kind != Kind::nesterov)
    throw core::InputError(
        fmt::format("--momentum does nothing for {}; add --optimizer momentum", name(kind)));
  if (weight_decay && kind != Kind::adamw)
    throw core::InputError(
        fmt::format("--weight-decay does nothing for {}; add --optimizer adamw", name(kind)));
  o.optimizer.learning_rate = learning_rate.value_or(usual_learning_rate(kind));
  o.optimizer.momentum = momentum.value_or(o.optimizer.momentum);
  o.optimizer.weight_decay = weight_decay.value_or(o.optimizer.weight_decay);
  o.pipeline.seed = o.seed;
  o.device = device_for(device);
  if (precision != asks_for_choice) o.precision = native::precision_named(precision);
  return o;
}

}  // namespace sweetspot::cli
