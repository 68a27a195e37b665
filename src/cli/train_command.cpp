#include "cli/train_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sweetspot::cli {

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_-./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string train_command(const NativeFlags& flags, const trial::Setting& setting) {
  const NativeFlags usual;
  const auto &o = flags.options, &d = usual.options;
  std::string text = "sweetspot train";
  const auto add = [&](bool needed, const std::string& words) {
    if (needed) text += " " + words;
  };
  const auto number = [&](const char* flag, auto value, auto default_value) {
    add(value != default_value, fmt::format("{} {}", flag, value));
  };
  add(o.model != d.model, "--model " + shell_word(o.model));
  add(!o.data.empty(), "--data " + shell_word(o.data));
  add(true, fmt::format("--batch {}", setting.batch));
  number("--accumulation", setting.accumulation, std::int64_t{1});
  add(o.optimizer.kind != d.optimizer.kind, fmt::format("--optimizer {}", name(o.optimizer.kind)));
  if (o.loss) add(true, fmt::format("--loss {}", name(*o.loss)));
  if (flags.learning_rate) add(true, fmt::format("--lr {}", *flags.learning_rate));
  if (flags.momentum) add(true, fmt::format("--momentum {}", *flags.momentum));
  if (flags.weight_decay) add(true, fmt::format("--weight-decay {}", *flags.weight_decay));
  add(flags.device != usual.device, "--device " + shell_word(flags.device));
  add(setting.precision != usual.precision, "--precision " + setting.precision);
  number("--threads", o.threads, d.threads);
  number("--workers", setting.workers, d.pipeline.workers);
  number("--prefetch", setting.prefetch, d.pipeline.prefetch);
  number("--seed", o.seed, d.seed);
  add(o.pipeline.cache, "--cache");
  add(!o.evaluate, "--no-eval");
  add(!o.pipeline.shuffle, "--no-shuffle");
  add(o.pipeline.augment_shift, "--augment shift");
  add(o.pipeline.drop_last, "--drop-last");
  if (const data::LoadDelay& delay = o.pipeline.delay; delay.duration.count() > 0)
    add(true, fmt::format("--load-delay {}us/{}", 1e6 * delay.duration.count(),
                          delay.per_sample ? "sample" : "batch"));
  return text;
}

}  // namespace sweetspot::cli
