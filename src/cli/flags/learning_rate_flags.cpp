#include "cli/flags/learning_rate_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "core/error.h"
#include "core/number.h"

namespace sweetspot::cli {
void add_learning_rate_flags(CLI::App& app, LearningRateFlags& flags) {
  learning_rate_rule_flag(app, flags.rule);
  text_flag(app, "--lr-batch", "N",
            fmt::format("the batch that --lr suits [{}]", data::PipelineOptions().batch),
            [&flags](const std::string& text) {
              flags.batch = core::parse_whole(text, "--lr-batch", 1, most_batch);
            });
  app.add_flag("--lr-check", flags.check,
               "train some seconds at half the answer's learning rate, at it and at twice as much");
}

std::optional<advise::LearningRateBase> learning_rate_base(const LearningRateFlags& flags,
                                                           const StudyFlags& study) {
  if (study.command.given() || study.workload != "native") {
    if (flags.rule || flags.batch || flags.check)
      throw core::InputError(
          "--lr-rule, --lr-batch and --lr-check are about models that sweetspot trains itself; a "
          "program has its own learning rate, so leave them out");
    return std::nullopt;
  }
  const engine::Optimizer& optimizer = study.native.options.optimizer;
  advise::LearningRateBase base;
  base.rate = study.native.learning_rate.value_or(usual_learning_rate(optimizer.kind));
  base.batch = flags.batch.value_or(data::PipelineOptions().batch);
  base.adaptive = is_adaptive(optimizer.kind);
  base.rule = flags.rule;
  return base;
}

}  // namespace sweetspot::cli
