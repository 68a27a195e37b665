#include <algorithm>
#include <functional>

#include "advise/answer_fields.h"
#include "advise/figures.h"
#include "trial/setting_fields.h"

namespace sweetspot::advise {
namespace {

constexpr auto row_fields = []<class Form>(Form& form, auto& row) {
  form.field("batch", row.batch);
  for (const Figure& figure : figures()) {
    if (!figure.json) continue;
    if constexpr (Form::reads)
      figure.read(form, figure.json, row);
    else
      figure.write(form, figure.json, row);
  }
  form.named("outcome", row.outcome, trial::Outcome::cancelled);
  form.text("note", row.note);
};

constexpr auto variant_fields = [](auto& form, auto& variant) {
  for (const trial::SettingField& field : trial::setting_fields())
    if (field.preposition)
      field.in(variant.configuration, [&](auto& its) { form.field(field.key, its); });
  form.field("batch", variant.batch);
  form.field("samples_per_second", variant.samples_per_second);
  form.field("joules_per_sample", variant.joules_per_sample);
  form.field("loss", variant.loss);
  form.list("rows", variant.rows, row_fields);
};

constexpr auto worker_search_fields = [](auto& form, auto& search) {
  form.field("workers", search.workers);
  form.list("tried", search.tried, [](auto& each, auto& tried) {
    each.field("batch", tried.batch);
    each.field("workers", tried.workers);
    each.field("samples_per_second", tried.samples_per_second);
  });
};

constexpr auto loader_check_fields = [](auto& form, auto& check) {
  form.field("workers", check.workers);
  form.field("prefetch", check.prefetch);
  form.field("samples_per_second_before", check.samples_per_second_before);
  form.field("samples_per_second", check.samples_per_second);
  form.field("data_wait_share", check.data_wait_share);
  form.field("memory_bytes", check.memory_bytes);
};

constexpr auto confirmation_fields = [](auto& form, auto& run) {
  form.field("asked", run.asked);
  form.field("confirmed", run.confirmed);
  form.field("batch", run.batch);
  form.field("steps", run.steps);
  form.field("memory_bytes", run.memory);
  form.field("larger_batch", run.larger);
  form.field("why", run.why);
};

constexpr auto noise_fields = [](auto& form, auto& noise) {
  form.field("start_samples", noise.start);
  form.field("later_samples", noise.later);
  form.field("trained_epochs", noise.epochs);
  form.field("diverged_at_step", noise.diverged_at_step);
};

constexpr auto scaling_fields = [](auto& form, auto& scaling) {
  form.field("ranks", scaling.ranks);
  form.field("efficiency_share", scaling.efficiency);
  form.field("step_seconds", scaling.step_seconds);
  form.field("alone_step_seconds", scaling.alone_seconds);
  form.field("apart_step_seconds", scaling.apart_seconds);
};

constexpr auto given_up_fields = [](auto& form, auto& given_up) {
  form.field("batch", given_up.batch);
  form.field("samples_per_second", given_up.samples_per_second);
  form.field("faster_share", given_up.faster);
  form.field("memory_bytes", given_up.memory);
  form.field("memory_times", given_up.times_memory);
  form.field("noise_scale_times", given_up.times_noise_scale);
};

constexpr auto learning_rate_fields = [](auto& form, auto& rate) {
  constexpr auto last = convergence::LearningRateRule::surge;
  form.named("rule", rate.rule, last);
  form.field("learning_rate", rate.by_rule);
  form.field("base_learning_rate", rate.base.rate);
  form.field("base_batch", rate.base.batch);
  form.field("adaptive", rate.base.adaptive);
  form.named("asked_rule", rate.base.rule, last);
  form.field("noise_scale_samples", rate.noise_scale);
  form.list("tried", rate.tried, [](auto& each, auto& run) {
    each.field("learning_rate", run.learning_rate);
    each.field("steps", run.steps);
    each.field("loss", run.loss);
  });
};

constexpr auto step_cost_fields = [](auto& form, auto& cost) {
  form.field("fixed_seconds", cost.fixed_seconds);
  form.field("per_sample_seconds", cost.per_sample_seconds);
};

constexpr auto roofline_fields = [](auto& form, auto& share) {
  form.field("flops_share", share.flops);
  form.field("bytes_share", share.bytes);
};

constexpr auto slow_kernel_fields = [](auto& form, auto& kernel) {
  form.field("operation", kernel.operation);
  form.field("alike", kernel.alike);
  form.field("share", kernel.share);
  form.field("times_floor", kernel.times_floor);
};

// A batch below the answer, and what would hide its loading: two fields of the recommendation.
struct LoadingBelow {
  std::int64_t batch = 1;
  LoaderAdvice advice;
};

constexpr auto loading_below_fields = [](auto& form, auto& below) {
  form.field("batch", below.batch);
  form.field("workers", below.advice.workers);
  form.field("prefetch", below.advice.prefetch);
  form.field("hidden_share", below.advice.hidden_share);
};

template <class Form>
void loading_below_field(Form& form, auto& made) {
  std::optional<LoadingBelow> below;
  if (made.loading_batch && made.loading_advice)
    below = LoadingBelow{*made.loading_batch, *made.loading_advice};
  form.object("loading_below", below, loading_below_fields);
  if constexpr (Form::reads)
    if (below) made.loading_batch = below->batch, made.loading_advice = below->advice;
}

// Null if unknown.
template <class Form>
void batch_is_field(Form& form, auto& made) {
  using trial::BatchIs;
  std::optional<std::string> text;
  if (made.batch_is != BatchIs::unsaid)
    text = made.batch_is == BatchIs::per_gpu ? "per_gpu" : "global";
  form.field("batch_is", text);
  if constexpr (Form::reads)
    made.batch_is = text == "per_gpu"  ? BatchIs::per_gpu
                    : text == "global" ? BatchIs::global
                                       : BatchIs::unsaid;
}

constexpr auto recommendation_fields = [](auto& form, auto& made) {
  for (const trial::SettingField& field : trial::setting_fields())
    field.in(made.setting, [&](auto& its) { form.field(field.key, its); });
  form.derived("micro_batch", [&] { return made.rank_micro_batch(); });
  form.field("samples_per_second", made.samples_per_second);
  form.field("throughput_share", made.throughput_share);
  form.field("memory_bytes", made.memory_bytes);
  form.field("joules_per_sample", made.joules_per_sample);
  form.field("best_joules_per_sample", made.best_joules_per_sample);
  form.named("bottleneck", made.limited_by, Bottleneck::memory_capacity);
  form.derived("sentence", [&] { return sentence(made); });
  form.list("reasons", made.reasons, [&](auto& each, auto& reason) {
    each.named("kind", reason, Reason::note);
    each.derived("text", [&] { return words(reason, made); });
  });
  form.field("command", made.command);
  form.named("objective", made.objective, search::Objective::energy);
  form.field("tolerance_share", made.tolerance);
  form.field("global_batch", made.global_batch);
  form.field("best_batch", made.best_batch);
  form.field("best_samples_per_second", made.best_samples_per_second);
  form.object("given_up", made.given_up, given_up_fields);
  form.group("knee", [&](auto& inner) {
    inner.field("low_batch", made.knee_low);
    inner.field("high_batch", made.knee_high);
  });
  form.group("alike", [&](auto& inner) {
    inner.field("low_batch", made.alike_low);
    inner.field("high_batch", made.alike_high);
  });
  form.field("regret_share", made.regret);
  form.object("step_cost", made.step_cost, step_cost_fields);
  form.list("rows", made.rows, row_fields);
  form.list("variants", made.variants, variant_fields);
  form.field("loss_batch", made.loss_batch);
  form.field("loss_step", made.loss_step);
  form.field("memory_limit_bytes", made.memory_limit);
  form.field("memory_margin_bytes", made.memory_margin);
  form.field("memory_includes_evaluation", made.has_run_memory);
  form.field("inputs_vary", made.inputs_vary);
  form.object("confirmation", made.confirmation, confirmation_fields);
  form.object("noise_scale", made.noise, noise_fields);
  form.object("learning_rate_rule", made.learning_rate, learning_rate_fields);
  form.field("memory_device", made.memory_device);
  batch_is_field(form, made);
  form.field("gpus", made.gpus);
  form.field("ranks", made.ranks);
  form.object("scaling", made.scaling, scaling_fields);
  form.field("largest_batch", made.largest_batch);
  form.field("clamp_batch", made.clamp_batch);
  form.field("data_wait_share", made.data_wait_share);
  form.object("roofline", made.roofline, roofline_fields);
  form.object("slow_kernel", made.slow_kernel, slow_kernel_fields);
  form.object("worker_search", made.worker_search, worker_search_fields);
  form.object("loader_check", made.loader_check, loader_check_fields);
  loading_below_field(form, made);
  form.field("slowed_share", made.slowed_share);
  form.field("contended", made.contended);
  form.text("contention_reason", made.contention_reason);
  form.field("previous_batch", made.previous_batch);
  cut_short_field(form, made.cut_short);
  form.field("budget_seconds", made.budget_seconds);
  form.field("notes", made.notes);
};

// Invariants that charts and tables rely on.
bool is_sane(const Recommendation& made) {
  const trial::Setting& setting = made.setting;
  const auto is_ascending = [](const std::vector<BatchRow>& rows) {
    return std::ranges::adjacent_find(rows, std::ranges::greater_equal{}, &BatchRow::batch) ==
           rows.end();
  };
  const bool ascending =
      is_ascending(made.rows) &&
      std::ranges::all_of(made.variants, is_ascending, [](const Variant& v) { return v.rows; });
  return setting.batch >= 1 && setting.accumulation >= 1 &&
         setting.batch % setting.accumulation == 0 && made.ranks >= 1 && ascending &&
         (made.rows.empty() || made.rows.front().batch >= 1);
}

}  // namespace

void add_fields(JsonWriter& form, const Recommendation& made) { recommendation_fields(form, made); }

void add_fields(JsonReader& form, Recommendation& made) {
  recommendation_fields(form, made);
  if (!form.require(is_sane(made))) return;
  made.batch = made.global_batch ? made.setting.micro_batch() : made.setting.batch;
  if (made.learning_rate) made.learning_rate->rate = made.setting.learning_rate;
}

}  // namespace sweetspot::advise
