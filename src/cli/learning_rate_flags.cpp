#include "cli/learning_rate_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/flags.h"
#include "core/error.h"
#include "core/number.h"

namespace sweetspot::cli {
namespace {

using stats::LearningRateRule;
constexpr LearningRateRule rules[] = {LearningRateRule::none, LearningRateRule::linear,
                                      LearningRateRule::square_root, LearningRateRule::adascale,
                                      LearningRateRule::surge};

std::vector<std::string_view> rule_names() {
  std::vector<std::string_view> names;
  for (const LearningRateRule rule : rules) names.push_back(name(rule));
  return names;
}

}  // namespace

void add_learning_rate_flags(CLI::App& app, LearningRateFlags& flags) {
  text_flag(app, "--lr-rule", "RULE",
            fmt::format("how the learning rate follows the batch: {} [by the optimizer and the "
                        "noise scale]",
                        fmt::join(rule_names(), ", ")),
            [&flags](const std::string& word) {
              flags.rule = rules[index_of(word, rule_names(), "--lr-rule")];
            });
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
