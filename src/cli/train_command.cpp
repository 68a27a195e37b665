#include "cli/train_command.h"

#include <fmt/format.h>

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
  add(flags.device != usual.device, "--device", flags.device);
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

}  // namespace sweetspot::cli
