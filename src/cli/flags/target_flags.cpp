#include "cli/flags/target_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli/flags/flags.h"
#include "cli/flags/native_flags.h"
#include "cli/flags/study_flags.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"

namespace sweetspot::cli {
void add_learning_rate_flags(CLI::App& app, LearningRateFlags& flags) {
  learning_rate_rule_flag(app, flags.rule);
  text_flag(app, "--lr-batch", "N",
            fmt::format("the batch that --lr suits [{}]", data::PipelineOptions().batch),
            [&flags](const std::string& text) {
              flags.batch = core::parse_whole(text, "--lr-batch", 1, most_batch);
            });
  app.add_flag("--lr-check", flags.check,
               "train for some seconds at half, once and twice the answer's learning rate");
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

bool read_target(const std::string& goal, TargetFlags& flags) {
  constexpr std::string_view energy_prefix = "energy-to-";
  const std::size_t equals = goal.find('=');
  std::string metric = goal.substr(0, equals);
  const bool for_energy = metric.starts_with(energy_prefix);
  if (for_energy) metric.erase(0, energy_prefix.size());
  if (metric != "accuracy" && metric != "loss") return false;
  if (equals == std::string::npos)
    throw core::InputError(fmt::format("--for {} names no target; write --for {}={}",
                                       core::printable(goal), core::printable(goal),
                                       metric == "accuracy" ? "0.99" : "0.1"));
  const std::string value = goal.substr(equals + 1), what = "--for " + goal.substr(0, equals);
  trial::Target target;
  if (metric == "accuracy") {
    target.value = core::parse_share(value, what, 1);
  } else {
    target.metric = trial::Target::Metric::loss;
    target.value = core::parse_real(value, what, {0, false}, {1e9});
  }
  flags.target = target, flags.for_energy = for_energy;
  return true;
}

void add_target_flags(CLI::App& app, TargetFlags& flags) {
  whole_flag(app, "--seeds", flags.seeds, {1, 1000},
             "for an accuracy or a loss: training runs per finalist");
  text_flag(app, "--finalists", "N|all",
            "for an accuracy or a loss: batches to train; the others are predicted [4]",
            [&flags](const std::string& text) {
              if (text == "all")
                flags.finalists.reset();
              else
                flags.finalists = static_cast<int>(core::parse_whole(text, "--finalists", 1, 1000));
            });
  whole_flag(app, "--most-epochs", flags.most_epochs, {1, most_epochs},
             "for an accuracy or a loss: the limit of a run that does not reach it");
}

}  // namespace sweetspot::cli
