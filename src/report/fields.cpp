#include "report/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/interval.h"
#include "core/text.h"
#include "report/table.h"
#include "trial/setting_fields.h"

namespace sweetspot::report {
namespace {

using trial::Phase;

template <class T>
Value known(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::int64_t>(*value);
  else
    return *value;
}

std::string dash() { return std::string(unknown); }
std::string counted(std::int64_t value) { return core::format_count(static_cast<double>(value)); }

Value share_of(const Row& row, Phase phase) {
  if (!row.trial->phases) return {};
  const double step = std::accumulate(row.trial->phases->begin(), row.trial->phases->end(), 0.0);
  if (step <= 0) return {};
  return (*row.trial->phases)[static_cast<std::size_t>(phase)] / step;
}

Value noise(const Row& row, double trial::Interval::*part) {
  if (!row.trial->noise_scale) return {};
  return *row.trial->noise_scale.*part;
}

Value bytes_for(const Row& row, core::Use use) {
  if (!row.trial->memory_by_use) return {};
  return static_cast<std::int64_t>((*row.trial->memory_by_use)[use]);
}

std::string speed_words(const Row& row) {
  const auto& speed = row.trial->samples_per_second;
  if (!speed || !std::isfinite(speed->mean) || row.doubted) return dash();
  return core::format_count(speed->mean) + " " +
         core::format_interval_percent(speed->mean, speed->low, speed->high);
}

std::string step_words(const Row& row) {
  const auto& median = row.trial->step_seconds_median;
  return median && std::isfinite(*median) ? fmt::format("{:.4g}", 1e3 * *median) : dash();
}

std::string memory_words(const Row& row) {
  const trial::Trial& t = *row.trial;
  const auto& bytes = t.memory_measured ? t.memory_measured : t.memory_predicted;
  return bytes ? core::format_bytes(*bytes) : dash();
}

std::string bottleneck_words(const Row& row) {
  const std::string note = core::printable(row.trial->note);
  if (row.trial->outcome == trial::Outcome::ok) {
    const std::string limit =
        row.bottleneck && !row.doubted ? std::string(words(*row.bottleneck)) : dash();
    return note.empty() ? limit : fmt::format("{}; {}", limit, note);
  }
  std::string text(name(row.trial->outcome));
  for (char& c : text)
    if (c == '_') c = ' ';
  if (note.starts_with(text)) return note;
  return note.empty() ? text : fmt::format("{}: {}", text, note);
}

const trial::Epoch* last_epoch(const Row& row) {
  return row.trial->epochs.empty() ? nullptr : &row.trial->epochs.back();
}

Value epoch_count(const Row& row) {
  return last_epoch(row) ? Value(static_cast<std::int64_t>(row.trial->epochs.size())) : Value{};
}

std::string epoch_words(const Row& row) {
  return last_epoch(row) ? counted(static_cast<std::int64_t>(row.trial->epochs.size())) : dash();
}

Value accuracy(const Row& row) {
  // Towards a target, a run may end within an epoch.
  if (!row.trial->evaluations.empty()) return known(row.trial->evaluations.back().test_accuracy);
  return last_epoch(row) ? known(last_epoch(row)->test_accuracy) : Value{};
}

std::string accuracy_words(const Row& row) {
  const Value share = accuracy(row);
  const double* known_share = std::get_if<double>(&share);
  return known_share ? fmt::format("{:.2f}%", 100 * *known_share) : dash();
}

Value text(std::string_view words) { return std::string(words); }
Value text_or_unknown(const std::string& words) { return words.empty() ? Value{} : text(words); }

const Field before_settings[] = {
    {"/setting/batch", "batch", [](const Row& r) -> Value { return r.trial->setting.batch; },
     Show::always, "batch", false, [](const Row& r) { return counted(r.trial->setting.batch); }},
    {"/setting/micro_batch", "micro_batch",
     [](const Row& r) -> Value { return r.trial->setting.micro_batch(); }},
};

// Of the rest of a setting.
Field field_of(const trial::SettingField& field) {
  const bool is_text = std::holds_alternative<std::string>(field.of(trial::Setting{}));
  const auto value = [&field](const Row& r) { return field.of(r.trial->setting); };
  Field made{std::string("/setting/") + field.key, field.key, value};
  if (!field.title) return made;
  made.show = Show::when_it_varies, made.title = field.title, made.left = is_text;
  made.words = [&field, value](const Row& r) {
    const std::string words = field.words(value(r));
    return words.empty() ? dash() : words;
  };
  return made;
}

const Field after_settings[] = {
    {"/device", "device", [](const Row& r) { return text(r.trial->device); }, Show::when_it_varies,
     "device", true, [](const Row& r) { return core::printable(r.trial->device); }},
    {"/outcome", "outcome", [](const Row& r) { return text(name(r.trial->outcome)); }},
    {"/stop_reason", "stop_reason",
     [](const Row& r) {
       return r.trial->stop_reason ? text(name(*r.trial->stop_reason)) : Value{};
     }},
    {"/epoch_count", "epochs", epoch_count, Show::when_known, "epochs", false, epoch_words},
    {"/test_accuracy", "test_accuracy", accuracy, Show::when_known, "test accuracy", false,
     accuracy_words},
    {"/sharpness", "sharpness", [](const Row& r) { return known(r.trial->sharpness); },
     Show::when_known, "sharpness", false,
     [](const Row& r) {
       return r.trial->sharpness ? fmt::format("{:.4g}", *r.trial->sharpness) : dash();
     }},
    {"/end_train_loss", "end_train_loss",
     [](const Row& r) { return known(r.trial->end_train_loss); }},
    {"/generalisation_gap", "generalisation_gap",
     [](const Row& r) { return known(trial::generalisation_gap(*r.trial)); }},
    {"/samples_per_second/mean", "samples_per_second",
     [](const Row& r) -> Value {
       if (!r.trial->samples_per_second) return {};
       return r.trial->samples_per_second->mean;
     },
     Show::always, "samples/s", false, speed_words},
    {"/samples_per_second/low", "samples_per_second_low",
     [](const Row& r) -> Value {
       if (!r.trial->samples_per_second) return {};
       return r.trial->samples_per_second->low;
     }},
    {"/samples_per_second/high", "samples_per_second_high",
     [](const Row& r) -> Value {
       if (!r.trial->samples_per_second) return {};
       return r.trial->samples_per_second->high;
     }},
    {"/step_seconds/median", "step_seconds_median",
     [](const Row& r) { return known(r.trial->step_seconds_median); }, Show::always, "step ms",
     false, step_words},
    {"/trial", "trial", [](const Row& r) -> Value { return r.number; }, Show::always, "trial",
     false, [](const Row& r) { return counted(r.number); }},
    {"/steps", "steps", [](const Row& r) -> Value { return r.trial->steps; }, Show::always, "steps",
     false, [](const Row& r) { return counted_words(*r.trial); }},
    {"/timings", "timings", [](const Row& r) -> Value { return r.trial->timings; }},
    {"/warm_up_steps", "warm_up_steps",
     [](const Row& r) -> Value { return r.trial->warm_up_steps; }},
    {"/outlier_steps", "outlier_steps",
     [](const Row& r) -> Value { return r.trial->outlier_steps; }},
    {"/samples_seen", "samples_seen", [](const Row& r) -> Value { return r.trial->samples_seen; }},
    {"/steps_total", "steps_total", [](const Row& r) { return known(r.trial->steps_total); }},
    {"/samples_per_step", "samples_per_step",
     [](const Row& r) { return known(r.trial->samples_per_step); }},
    {"/sample_stride", "sample_stride", [](const Row& r) { return known(r.trial->sample_stride); }},
    {"/memory_bytes/predicted", "memory_predicted_bytes",
     [](const Row& r) { return known(r.trial->memory_predicted); }},
    {"/memory_bytes/measured", "memory_measured_bytes",
     [](const Row& r) { return known(r.trial->memory_measured); }, Show::always, "memory", false,
     memory_words},
    {"/memory_bytes/by_use/weights", "memory_weights_bytes",
     [](const Row& r) { return bytes_for(r, core::Use::weights); }},
    {"/memory_bytes/by_use/gradients", "memory_gradients_bytes",
     [](const Row& r) { return bytes_for(r, core::Use::gradients); }},
    {"/memory_bytes/by_use/optimizer", "memory_optimizer_bytes",
     [](const Row& r) { return bytes_for(r, core::Use::optimizer); }},
    {"/memory_bytes/by_use/activations", "memory_activations_bytes",
     [](const Row& r) { return bytes_for(r, core::Use::activations); }},
    {"/memory_bytes/by_use/workspace", "memory_workspace_bytes",
     [](const Row& r) { return bytes_for(r, core::Use::workspace); }},
    {"/memory_bytes/by_use/input", "memory_input_bytes",
     [](const Row& r) { return bytes_for(r, core::Use::input); }},
    {"/memory_bytes/host", "host_memory_bytes",
     [](const Row& r) { return known(r.trial->host_memory); }},
    {"/memory_bytes/capacity", "memory_capacity_bytes",
     [](const Row& r) { return known(r.trial->memory_capacity); }},
    {"/memory_bytes/wanted", "memory_wanted_bytes",
     [](const Row& r) { return known(r.trial->memory_wanted); }},
    {"/memory_bytes/margin", "memory_margin_bytes",
     [](const Row& r) { return known(r.trial->memory_margin); }},
    {"/inputs_vary", "inputs_vary", [](const Row& r) -> Value { return r.trial->inputs_vary; }},
    {"/memory_bytes/source", "memory_source",
     [](const Row& r) { return text_or_unknown(r.trial->memory_source); }},
    {"/step_source", "step_source",
     [](const Row& r) { return text_or_unknown(r.trial->step_source.text); }},
    {"/start_up_seconds", "start_up_seconds",
     [](const Row& r) { return known(r.trial->start_up_seconds); }},
    {"/cpu_seconds", "cpu_seconds", [](const Row& r) { return known(r.trial->cpu_seconds); }},
    {"/energy_joules", "energy_joules", [](const Row& r) { return known(r.trial->energy_joules); }},
    {"/energy_samples", "energy_samples",
     [](const Row& r) { return known(r.trial->energy_samples); }},
    {"/joules_per_sample", "joules_per_sample",
     [](const Row& r) { return known(trial::joules_per_sample(*r.trial)); }, Show::when_known,
     "energy/sample", false,
     [](const Row& r) {
       const auto joules = trial::joules_per_sample(*r.trial);
       return joules ? core::format_joules(*joules) : dash();
     }},
    {"/loss/value", "loss",
     [](const Row& r) -> Value {
       return r.trial->losses.empty() ? Value{} : r.trial->losses.back().value;
     }},
    {"/loss/step", "loss_step",
     [](const Row& r) -> Value {
       return r.trial->losses.empty() ? Value{} : r.trial->losses.back().step;
     }},
    {"/noise_scale_samples/mean", "noise_scale_samples",
     [](const Row& r) { return noise(r, &trial::Interval::mean); }, Show::when_known, "noise scale",
     false,
     [](const Row& r) {
       const auto& scale = r.trial->noise_scale;
       return scale ? core::format_rounded(scale->mean) : dash();
     }},
    {"/noise_scale_samples/low", "noise_scale_samples_low",
     [](const Row& r) { return noise(r, &trial::Interval::low); }},
    {"/noise_scale_samples/high", "noise_scale_samples_high",
     [](const Row& r) { return noise(r, &trial::Interval::high); }},
    {"/phases/data_wait", "data_wait_share",
     [](const Row& r) { return share_of(r, Phase::data_wait); }},
    {"/phases/forward", "forward_share", [](const Row& r) { return share_of(r, Phase::forward); }},
    {"/phases/backward", "backward_share",
     [](const Row& r) { return share_of(r, Phase::backward); }},
    {"/phases/optimizer", "optimizer_share",
     [](const Row& r) { return share_of(r, Phase::optimizer); }},
    {"/phases/overhead", "overhead_share",
     [](const Row& r) { return share_of(r, Phase::overhead); }},
    {"/bottleneck", "bottleneck",
     [](const Row& r) { return r.bottleneck ? text(advise::name(*r.bottleneck)) : Value{}; },
     Show::always, "bottleneck", true, bottleneck_words},
    {"/contention/contended", "contended",
     [](const Row& r) -> Value { return r.trial->contention.contended; }},
    {"/contention/cpu_pressure_share", "cpu_pressure_share",
     [](const Row& r) { return known(r.trial->contention.cpu_pressure_share); }},
    {"/contention/other_cpu_share", "other_cpu_share",
     [](const Row& r) { return known(r.trial->contention.other_cpu_share); }},
    {"/contention/slowed_share", "slowed_share",
     [](const Row& r) { return known(r.trial->contention.slowed_share); }},
    {"/contention/other_gpu_share", "other_gpu_share",
     [](const Row& r) { return known(r.trial->contention.other_gpu_share); }},
    {"/contention/other_gpu_memory_bytes", "other_gpu_memory_bytes",
     [](const Row& r) { return known(r.trial->contention.other_gpu_memory); }},
    {"/contention/gpu_throttle", "gpu_throttle",
     [](const Row& r) { return text_or_unknown(r.trial->contention.gpu_throttle); }},
    {"/contention/reason", "contention_reason",
     [](const Row& r) { return text_or_unknown(r.trial->contention.reason); }},
    {"/note", "note", [](const Row& r) { return text_or_unknown(r.trial->note); }},
    {"/last_output", "last_output",
     [](const Row& r) { return text_or_unknown(r.trial->last_output); }},
    {"/started_at_unix_seconds", "started_at_unix_seconds",
     [](const Row& r) -> Value { return r.trial->started_at; }},
    {"/seconds", "seconds", [](const Row& r) -> Value { return r.trial->seconds; }},
};

}  // namespace

// What was timed: lines of a log, refreshes of a bar, reports of a client, whole runs, rounds.
std::string counted_words(const trial::Trial& trial) {
  const std::string steps = counted(trial.steps);
  if (trial.timings == trial.steps || trial.timings == 0) return steps;
  constexpr std::string_view words[] = {"block",      "block",    "report",
                                        "bar update", "log line", "run"};
  const std::string_view word = words[static_cast<std::size_t>(trial.step_source.kind())];
  return fmt::format("{} in {} {}{}", steps, counted(trial.timings), word,
                     trial.timings == 1 ? "" : "s");
}

std::span<const Field> fields() {
  static const std::vector<Field> all = [] {
    std::vector<Field> list(std::begin(before_settings), std::end(before_settings));
    for (const trial::SettingField& field : trial::setting_fields())
      if (std::string_view(field.key) != "batch") list.push_back(field_of(field));
    list.insert(list.end(), std::begin(after_settings), std::end(after_settings));
    return list;
  }();
  return all;
}

std::string short_reason(const std::string& note) { return note.substr(0, note.find("; ")); }

bool is_shown(const Field& field, const std::vector<Row>& list) {
  if (field.show == Show::never || field.show == Show::always || list.empty())
    return field.show == Show::always;
  if (field.show == Show::when_known)
    return std::ranges::any_of(list, [&](const Row& row) { return field.value(row) != Value{}; });
  const Value first = field.value(list.front());
  return std::any_of(list.begin(), list.end(),
                     [&](const Row& row) { return field.value(row) != first; });
}

}  // namespace sweetspot::report
