#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "advise/advise.h"
#include "advise/time_to_target.h"

namespace sweetspot::advise {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class Enum>
Json name_or_null(const std::optional<Enum>& value) {
  return value ? Json(name(*value)) : Json(nullptr);
}

Json interval_json(const std::optional<core::Interval>& interval) {
  if (!interval) return nullptr;
  return {{"mean", interval->mean}, {"low", interval->low}, {"high", interval->high}};
}

Json row_json(const BatchRow& row) {
  return {{"batch", row.batch},
          {"samples_per_second", interval_json(row.samples_per_second)},
          {"throughput_share", interval_json(row.share)},
          {"within_tolerance_probability", or_null(row.within_tolerance)},
          {"memory_bytes", or_null(row.memory)},
          {"joules_per_sample", interval_json(row.joules_per_sample)},
          {"bottleneck", name_or_null(row.limited_by)},
          {"outcome", name(row.outcome)},
          {"note", row.note.empty() ? Json(nullptr) : Json(row.note)}};
}

Json rows_json(const std::vector<BatchRow>& rows) {
  Json list = Json::array();
  for (const BatchRow& row : rows) list.push_back(row_json(row));
  return list;
}

Json variants_json(const std::vector<Variant>& variants) {
  Json list = Json::array();
  for (const Variant& variant : variants)
    list.push_back({{"precision", variant.precision},
                    {"power_limit_watts", or_null(variant.power_limit_watts)},
                    {"batch", variant.batch},
                    {"samples_per_second", variant.samples_per_second},
                    {"joules_per_sample", or_null(variant.joules_per_sample)},
                    {"loss", or_null(variant.loss)},
                    {"rows", rows_json(variant.rows)}});
  return list;
}

Json workers_json(const std::optional<WorkerSearch>& search) {
  if (!search) return nullptr;
  Json json{{"workers", search->workers}, {"tried", Json::array()}};
  for (const WorkerSearch::Tried& tried : search->tried)
    json["tried"].push_back({{"batch", tried.batch},
                             {"workers", tried.workers},
                             {"samples_per_second", tried.samples_per_second}});
  return json;
}

Json check_json(const std::optional<LoaderCheck>& check) {
  if (!check) return nullptr;
  return {{"workers", check->workers},
          {"prefetch", check->prefetch},
          {"samples_per_second_before", check->samples_per_second_before},
          {"samples_per_second", or_null(check->samples_per_second)},
          {"data_wait_share", or_null(check->data_wait_share)},
          {"memory_bytes", or_null(check->memory_bytes)}};
}

Json confirmation_json(const std::optional<Confirmation>& run) {
  if (!run) return nullptr;
  return {{"asked", run->asked},
          {"confirmed", run->confirmed},
          {"batch", run->batch},
          {"steps", run->steps},
          {"memory_bytes", or_null(run->memory)},
          {"larger_batch", or_null(run->larger)},
          {"why", run->why}};
}

void read_confirmation(auto& from, Confirmation& run) {
  from.read("asked", run.asked);
  from.read("confirmed", run.confirmed);
  from.read("batch", run.batch);
  from.read("steps", run.steps);
  from.read("memory_bytes", run.memory);
  from.read("larger_batch", run.larger);
  from.read("why", run.why);
}

Json noise_json(const std::optional<trial::GradientNoise>& noise) {
  if (!noise) return nullptr;
  return {{"start_samples", interval_json(noise->start)},
          {"later_samples", interval_json(noise->later)},
          {"trained_epochs", noise->epochs}};
}

void read_noise(auto& from, trial::GradientNoise& noise) {
  from.read("start_samples", noise.start);
  from.read("later_samples", noise.later);
  from.read("trained_epochs", noise.epochs);
}

Json scaling_json(const std::optional<trial::Scaling>& scaling) {
  if (!scaling) return nullptr;
  return {{"ranks", scaling->ranks},
          {"efficiency_share", interval_json(scaling->efficiency)},
          {"step_seconds", scaling->step_seconds},
          {"alone_step_seconds", scaling->alone_seconds},
          {"apart_step_seconds", scaling->apart_seconds}};
}

void read_scaling(auto& from, trial::Scaling& scaling) {
  from.read("ranks", scaling.ranks);
  std::optional<core::Interval> efficiency;
  from.read("efficiency_share", efficiency);
  scaling.efficiency = efficiency.value_or(core::Interval{});
  from.read("step_seconds", scaling.step_seconds);
  from.read("alone_step_seconds", scaling.alone_seconds);
  from.read("apart_step_seconds", scaling.apart_seconds);
}

Json given_up_json(const std::optional<GivenUp>& given_up) {
  if (!given_up) return nullptr;
  return {{"batch", given_up->batch},
          {"samples_per_second", given_up->samples_per_second},
          {"faster_share", given_up->faster},
          {"memory_bytes", or_null(given_up->memory)},
          {"memory_times", or_null(given_up->times_memory)},
          {"noise_scale_times", or_null(given_up->times_noise_scale)}};
}

void read_given_up(auto& from, GivenUp& given_up) {
  from.read("batch", given_up.batch);
  from.read("samples_per_second", given_up.samples_per_second);
  from.read("faster_share", given_up.faster);
  from.read("memory_bytes", given_up.memory);
  from.read("memory_times", given_up.times_memory);
  from.read("noise_scale_times", given_up.times_noise_scale);
}

Json rate_json(const std::optional<LearningRate>& rate) {
  if (!rate) return nullptr;
  Json json{{"rule", convergence::name(rate->rule)},
            {"learning_rate", rate->by_rule},
            {"base_learning_rate", rate->base.rate},
            {"base_batch", rate->base.batch},
            {"adaptive", rate->base.adaptive},
            {"asked_rule", name_or_null(rate->base.rule)},
            {"noise_scale_samples", or_null(rate->noise_scale)},
            {"tried", Json::array()}};
  for (const trial::RateRun& run : rate->tried)
    json["tried"].push_back(
        {{"learning_rate", run.learning_rate}, {"steps", run.steps}, {"loss", or_null(run.loss)}});
  return json;
}

void read_rate(auto& from, LearningRate& rate) {
  constexpr auto last = convergence::LearningRateRule::surge;
  from.named("rule", rate.rule, last);
  from.read("learning_rate", rate.by_rule);
  from.read("base_learning_rate", rate.base.rate);
  from.read("base_batch", rate.base.batch);
  from.read("adaptive", rate.base.adaptive);
  from.named("asked_rule", rate.base.rule, last);
  from.read("noise_scale_samples", rate.noise_scale);
  from.list("tried", rate.tried, [](auto& each, trial::RateRun& run) {
    each.read("learning_rate", run.learning_rate);
    each.read("steps", run.steps);
    each.read("loss", run.loss);
  });
}

Json loading_json(const Recommendation& made) {
  if (!made.loading_batch || !made.loading_advice) return nullptr;
  return {{"batch", *made.loading_batch},
          {"workers", made.loading_advice->workers},
          {"prefetch", made.loading_advice->prefetch},
          {"hidden_share", made.loading_advice->hidden_share}};
}

Json roofline_json(const std::optional<RooflineShare>& share) {
  if (!share) return nullptr;
  return {{"flops_share", or_null(share->flops)}, {"bytes_share", or_null(share->bytes)}};
}

Json kernel_json(const std::optional<SlowKernel>& kernel) {
  if (!kernel) return nullptr;
  return {{"operation", kernel->operation},
          {"alike", kernel->alike},
          {"share", kernel->share},
          {"times_floor", kernel->times_floor}};
}

Json cost_json(const std::optional<StepCost>& cost) {
  if (!cost) return nullptr;
  return {{"fixed_seconds", cost->fixed_seconds}, {"per_sample_seconds", cost->per_sample_seconds}};
}

Json batch_is_json(trial::BatchIs batch_is) {
  if (batch_is == trial::BatchIs::unsaid) return nullptr;
  return batch_is == trial::BatchIs::per_gpu ? "per_gpu" : "global";
}

Json reasons_json(const Recommendation& made) {
  Json list = Json::array();
  for (const Reason reason : made.reasons)
    list.push_back({{"kind", name(reason)}, {"text", words(reason, made)}});
  return list;
}

// Reads what to_json wrote. The text may be anybody's: what has not the form that is asked for is
// remembered, and nothing is believed then. What a later version adds is passed over.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) { ok_ = json.is_object(); }
  bool ok() const { return ok_; }

  template <class T>
  void read(const char* key, T& value) {
    const Json* found = at(key);
    if (!found || !take(*found, value)) ok_ = false;
  }
  template <class T>
  void read(const char* key, std::optional<T>& value) {
    const Json* found = at(key);
    if (!found) return;
    if (!take(*found, value.emplace())) ok_ = false;
  }
  // An object, by its own function.
  template <class T, class Parse>
  void object(const char* key, std::optional<T>& value, const Parse& parse) {
    if (const Json* found = at(key)) fill(*found, value.emplace(), parse);
  }
  template <class Parse>
  void object(const char* key, const Parse& parse) {
    const Json* found = at(key);
    if (!found) return void(ok_ = false);
    Reader inner(*found);
    if (inner.ok()) parse(inner);
    ok_ = ok_ && inner.ok();
  }
  template <class T, class Parse>
  void list(const char* key, std::vector<T>& values, const Parse& parse) {
    const Json* found = at(key);
    if (!found || !found->is_array()) return void(ok_ = false);
    for (const Json& each : *found) fill(each, values.emplace_back(), parse);
  }
  // Of what earlier versions did not write.
  template <class T, class Parse>
  void list_if_there(const char* key, std::vector<T>& values, const Parse& parse) {
    if (at(key)) list(key, values, parse);
  }
  void strings(const char* key, std::vector<std::string>& values) {
    const Json* found = at(key);
    if (!found || !found->is_array()) return void(ok_ = false);
    for (const Json& each : *found)
      if (!take(each, values.emplace_back())) ok_ = false;
  }
  // One of the names from `first` to `last`.
  template <class Enum>
  void named(const char* key, Enum& value, Enum last) {
    const Json* found = at(key);
    if (!found || !find_name(*found, value, last)) ok_ = false;
  }
  template <class Enum>
  void named(const char* key, std::optional<Enum>& value, Enum last) {
    const Json* found = at(key);
    if (found && !find_name(*found, value.emplace(), last)) ok_ = false;
  }

 private:
  const Json* at(const char* key) const {
    const auto found = ok_ ? json_.find(key) : json_.end();
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  template <class T, class Parse>
  void fill(const Json& json, T& value, const Parse& parse) {
    Reader inner(json);
    if (inner.ok()) parse(inner, value);
    ok_ = ok_ && inner.ok();
  }
  static bool take(const Json& json, std::string& value) {
    if (!json.is_string()) return false;
    value = json.get<std::string>();
    return true;
  }
  static bool take(const Json& json, bool& value) {
    if (!json.is_boolean()) return false;
    value = json.get<bool>();
    return true;
  }
  static bool take(const Json& json, double& value) {
    constexpr double most = 1e18;  // of anything that is counted here, seconds to bytes
    if (!json.is_number()) return false;
    value = json.get<double>();
    return value >= 0 && value <= most;
  }
  static bool take(const Json& json, std::uint64_t& value) {
    if (!json.is_number_unsigned()) return false;
    value = json.get<std::uint64_t>();
    return true;
  }
  // Sizes and counts: none is negative.
  static bool take(const Json& json, std::int64_t& value) {
    std::uint64_t whole = 0;
    if (!take(json, whole) || whole > std::numeric_limits<std::int64_t>::max()) return false;
    value = static_cast<std::int64_t>(whole);
    return true;
  }
  static bool take(const Json& json, int& value) {
    std::uint64_t whole = 0;
    if (!take(json, whole) || whole > std::numeric_limits<int>::max()) return false;
    value = static_cast<int>(whole);
    return true;
  }
  static bool take(const Json& json, core::Interval& value) {
    Reader inner(json);
    inner.read("mean", value.mean);
    inner.read("low", value.low);
    inner.read("high", value.high);
    return inner.ok();
  }
  template <class Enum>
  static bool find_name(const Json& json, Enum& value, Enum last) {
    if (!json.is_string()) return false;
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (value = static_cast<Enum>(i); name(value) == json.get_ref<const std::string&>())
        return true;
    return false;
  }

  const Json& json_;
  bool ok_ = true;
};

void read_row(Reader& from, BatchRow& row) {
  from.read("batch", row.batch);
  from.read("samples_per_second", row.samples_per_second);
  from.read("throughput_share", row.share);
  from.read("within_tolerance_probability", row.within_tolerance);
  from.read("memory_bytes", row.memory);
  from.read("joules_per_sample", row.joules_per_sample);
  from.named("bottleneck", row.limited_by, Bottleneck::memory_capacity);
  from.named("outcome", row.outcome, trial::Outcome::cancelled);
  std::optional<std::string> note;
  from.read("note", note);
  row.note = note.value_or("");
}

void read_variant(Reader& from, Variant& variant) {
  from.read("precision", variant.precision);
  from.read("power_limit_watts", variant.power_limit_watts);
  from.read("batch", variant.batch);
  from.read("samples_per_second", variant.samples_per_second);
  from.read("joules_per_sample", variant.joules_per_sample);
  from.read("loss", variant.loss);
  from.list("rows", variant.rows, read_row);
}

void read_workers(Reader& from, WorkerSearch& search) {
  from.read("workers", search.workers);
  from.list("tried", search.tried, [](Reader& each, WorkerSearch::Tried& tried) {
    each.read("batch", tried.batch);
    each.read("workers", tried.workers);
    each.read("samples_per_second", tried.samples_per_second);
  });
}

void read_check(Reader& from, LoaderCheck& check) {
  from.read("workers", check.workers);
  from.read("prefetch", check.prefetch);
  from.read("samples_per_second_before", check.samples_per_second_before);
  from.read("samples_per_second", check.samples_per_second);
  from.read("data_wait_share", check.data_wait_share);
  from.read("memory_bytes", check.memory_bytes);
}

void read_setting(Reader& from, trial::Setting& setting) {
  from.read("batch", setting.batch);
  from.read("accumulation", setting.accumulation);
  from.read("precision", setting.precision);
  from.read("power_limit_watts", setting.power_limit_watts);
  from.read("learning_rate", setting.learning_rate);
  from.read("workers", setting.workers);
  from.read("prefetch", setting.prefetch);
  from.read("seed", setting.seed);
}

void read_reasons(Reader& from, Recommendation& made) {
  struct Said {
    Reason reason{};
  };
  std::vector<Said> said;
  from.list("reasons", said,
            [](Reader& each, Said& one) { each.named("kind", one.reason, Reason::note); });
  for (const Said& each : said) made.reasons.push_back(each.reason);
}

void read_loaders(Reader& from, Recommendation& made) {
  from.object("worker_search", made.worker_search, read_workers);
  from.object("loader_check", made.loader_check, read_check);
  std::optional<LoaderAdvice> advice;
  std::int64_t batch = 1;
  from.object("loading_below", advice, [&](Reader& inner, LoaderAdvice& value) {
    inner.read("batch", batch);
    inner.read("workers", value.workers);
    inner.read("prefetch", value.prefetch);
    inner.read("hidden_share", value.hidden_share);
  });
  if (advice) made.loading_batch = batch, made.loading_advice = advice;
}

void read_all(Reader& from, Recommendation& made) {
  read_setting(from, made.setting);
  from.read("samples_per_second", made.samples_per_second);
  from.read("throughput_share", made.throughput_share);
  from.read("memory_bytes", made.memory_bytes);
  from.read("joules_per_sample", made.joules_per_sample);
  from.read("best_joules_per_sample", made.best_joules_per_sample);
  from.named("bottleneck", made.limited_by, Bottleneck::memory_capacity);
  from.read("command", made.command);
  from.named("objective", made.objective, search::Objective::energy);
  from.read("tolerance_share", made.tolerance);
  from.read("global_batch", made.global_batch);
  from.read("best_batch", made.best_batch);
  from.read("best_samples_per_second", made.best_samples_per_second);
  const auto range = [&](const char* key, std::int64_t& low, std::int64_t& high) {
    from.object(key, [&](Reader& inner) {
      inner.read("low_batch", low);
      inner.read("high_batch", high);
    });
  };
  range("knee", made.knee_low, made.knee_high);
  range("alike", made.alike_low, made.alike_high);
  from.read("regret_share", made.regret);
  from.object("step_cost", made.step_cost, [](Reader& inner, StepCost& cost) {
    inner.read("fixed_seconds", cost.fixed_seconds);
    inner.read("per_sample_seconds", cost.per_sample_seconds);
  });
  from.list("rows", made.rows, read_row);
  from.list_if_there("variants", made.variants, read_variant);
  from.read("loss_batch", made.loss_batch);
  from.read("loss_step", made.loss_step);
  from.read("memory_limit_bytes", made.memory_limit);
  from.read("memory_margin_bytes", made.memory_margin);
  std::optional<bool> inputs_vary;
  from.read("inputs_vary", inputs_vary);
  made.inputs_vary = inputs_vary.value_or(false);
  from.object("confirmation", made.confirmation,
              [](Reader& inner, Confirmation& run) { read_confirmation(inner, run); });
  from.object("given_up", made.given_up,
              [](Reader& inner, GivenUp& given_up) { read_given_up(inner, given_up); });
  from.object("noise_scale", made.noise,
              [](Reader& inner, trial::GradientNoise& noise) { read_noise(inner, noise); });
  from.object("learning_rate_rule", made.learning_rate,
              [](Reader& inner, LearningRate& rate) { read_rate(inner, rate); });
  if (made.learning_rate) made.learning_rate->rate = made.setting.learning_rate;
  std::optional<std::string> device, batch_is;  // answers of earlier versions have none
  from.read("memory_device", device);
  made.memory_device = device.value_or("");
  from.read("batch_is", batch_is);
  made.batch_is = batch_is == "per_gpu"  ? trial::BatchIs::per_gpu
                  : batch_is == "global" ? trial::BatchIs::global
                                         : trial::BatchIs::unsaid;
  from.read("gpus", made.gpus);
  std::optional<std::int64_t> ranks;
  from.read("ranks", ranks);
  made.ranks = ranks.value_or(1);
  from.object("scaling", made.scaling,
              [](Reader& inner, trial::Scaling& scaling) { read_scaling(inner, scaling); });
  from.read("largest_batch", made.largest_batch);
  from.read("clamp_batch", made.clamp_batch);
  from.read("data_wait_share", made.data_wait_share);
  from.object("roofline", made.roofline, [](Reader& inner, RooflineShare& share) {
    inner.read("flops_share", share.flops);
    inner.read("bytes_share", share.bytes);
  });
  from.object("slow_kernel", made.slow_kernel, [](Reader& inner, SlowKernel& kernel) {
    inner.read("operation", kernel.operation);
    inner.read("alike", kernel.alike);
    inner.read("share", kernel.share);
    inner.read("times_floor", kernel.times_floor);
  });
  read_loaders(from, made);
  from.read("slowed_share", made.slowed_share);
  from.read("contended", made.contended);
  std::optional<std::string> contention;
  from.read("contention_reason", contention);
  made.contention_reason = contention.value_or("");
  from.read("previous_batch", made.previous_batch);
  from.named("cut_short", made.cut_short, CutShort::device_lost);
  from.read("budget_seconds", made.budget_seconds);
  from.strings("notes", made.notes);
  read_reasons(from, made);
}

// What charts and tables take for granted.
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

std::string to_json(const Recommendation& made) {
  const trial::Setting& setting = made.setting;
  Json json{{"batch", setting.batch},
            {"micro_batch", made.rank_micro_batch()},
            {"accumulation", setting.accumulation},
            {"precision", setting.precision},
            {"power_limit_watts", or_null(setting.power_limit_watts)},
            {"learning_rate", setting.learning_rate},
            {"workers", setting.workers},
            {"prefetch", setting.prefetch},
            {"seed", setting.seed},
            {"samples_per_second", made.samples_per_second},
            {"throughput_share", made.throughput_share},
            {"memory_bytes", or_null(made.memory_bytes)},
            {"joules_per_sample", or_null(made.joules_per_sample)},
            {"best_joules_per_sample", or_null(made.best_joules_per_sample)},
            {"bottleneck", name_or_null(made.limited_by)},
            {"sentence", sentence(made)},
            {"reasons", reasons_json(made)},
            {"command", made.command},
            {"objective", name(made.objective)},
            {"tolerance_share", made.tolerance},
            {"global_batch", or_null(made.global_batch)},
            {"best_batch", made.best_batch},
            {"best_samples_per_second", made.best_samples_per_second},
            {"given_up", given_up_json(made.given_up)},
            {"knee", {{"low_batch", made.knee_low}, {"high_batch", made.knee_high}}},
            {"alike", {{"low_batch", made.alike_low}, {"high_batch", made.alike_high}}},
            {"regret_share", made.regret},
            {"step_cost", cost_json(made.step_cost)},
            {"rows", rows_json(made.rows)},
            {"variants", variants_json(made.variants)},
            {"loss_batch", or_null(made.loss_batch)},
            {"loss_step", or_null(made.loss_step)},
            {"memory_limit_bytes", or_null(made.memory_limit)},
            {"memory_margin_bytes", or_null(made.memory_margin)},
            {"inputs_vary", made.inputs_vary},
            {"confirmation", confirmation_json(made.confirmation)},
            {"noise_scale", noise_json(made.noise)},
            {"learning_rate_rule", rate_json(made.learning_rate)},
            {"memory_device", made.memory_device},
            {"batch_is", batch_is_json(made.batch_is)},
            {"gpus", or_null(made.gpus)},
            {"ranks", made.ranks},
            {"scaling", scaling_json(made.scaling)},
            {"largest_batch", or_null(made.largest_batch)},
            {"clamp_batch", or_null(made.clamp_batch)},
            {"data_wait_share", or_null(made.data_wait_share)},
            {"roofline", roofline_json(made.roofline)},
            {"slow_kernel", kernel_json(made.slow_kernel)},
            {"worker_search", workers_json(made.worker_search)},
            {"loader_check", check_json(made.loader_check)},
            {"loading_below", loading_json(made)},
            {"slowed_share", or_null(made.slowed_share)},
            {"contended", made.contended},
            {"contention_reason",
             made.contention_reason.empty() ? Json(nullptr) : Json(made.contention_reason)},
            {"previous_batch", or_null(made.previous_batch)},
            {"cut_short", name(made.cut_short)},
            {"budget_seconds", or_null(made.budget_seconds)},
            {"notes", made.notes}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Recommendation> from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  Reader from(json);
  Recommendation made;
  if (from.ok()) read_all(from, made);
  if (!from.ok() || !is_sane(made)) return std::nullopt;
  made.batch = made.global_batch ? made.setting.micro_batch() : made.setting.batch;
  return made;
}

// The other kind of answer: the time to a target.
namespace {

Json run_json(const TargetRunTold& run) {
  return {{"seed", run.seed},         {"reached", run.reached},
          {"samples", run.samples},   {"updates", run.updates},
          {"seconds", run.seconds},   {"clock_seconds", run.clock_seconds},
          {"best", or_null(run.best)}};
}

Json target_row_json(const TargetRow& row, const TimeToTarget& made) {
  Json runs = Json::array();
  for (const TargetRunTold& run : row.runs) runs.push_back(run_json(run));
  Json json{{"batch", row.batch},
            {"learning_rate", row.learning_rate},
            {"samples_per_second", interval_json(row.samples_per_second)},
            {"joules_per_sample", interval_json(row.joules_per_sample)},
            {"predicted_samples", interval_json(row.predicted_samples)},
            {"predicted_seconds", interval_json(row.predicted_seconds)},
            {"predicted_joules", interval_json(predicted_joules(row))},
            {"measured_seconds", interval_json(measured_seconds(row))},
            {"measured_joules", interval_json(measured_joules(row))}};
  const std::vector<double> samples = row.samples();
  double sum = 0;
  for (const double each : samples) sum += each;
  const double count = static_cast<double>(samples.size());
  json["measured_samples"] = samples.empty() ? Json(nullptr) : Json(sum / count);
  json["epochs"] = samples.empty() || !made.samples_in_epoch
                       ? Json(nullptr)
                       : Json(sum / count / *made.samples_in_epoch);
  json["reached"] = row.reached();
  json["runs"] = std::move(runs);
  json["failure"] = row.failure.empty() ? Json(nullptr) : Json(row.failure);
  return json;
}

void read_target_run(Reader& from, TargetRunTold& run) {
  from.read("seed", run.seed);
  from.read("reached", run.reached);
  from.read("samples", run.samples);
  from.read("updates", run.updates);
  from.read("seconds", run.seconds);
  from.read("clock_seconds", run.clock_seconds);
  from.read("best", run.best);
}

void read_target_row(Reader& from, TargetRow& row) {
  from.read("batch", row.batch);
  from.read("learning_rate", row.learning_rate);
  from.read("samples_per_second", row.samples_per_second);
  from.read("joules_per_sample", row.joules_per_sample);
  from.read("predicted_samples", row.predicted_samples);
  from.read("predicted_seconds", row.predicted_seconds);
  from.list("runs", row.runs, read_target_run);
  std::optional<std::string> failure;
  from.read("failure", failure);
  row.failure = failure.value_or("");
}

}  // namespace

std::string to_json(const TimeToTarget& made) {
  Json rows = Json::array(), reasons = Json::array();
  for (const TargetRow& row : made.rows) rows.push_back(target_row_json(row, made));
  for (const std::string& reason : reasons_in_words(made)) reasons.push_back(reason);
  const TargetRow* chosen = made.chosen();
  const Json json{
      {"target", {{"metric", trial::name(made.target.metric)}, {"value", made.target.value}}},
      {"for_energy", made.for_energy},
      {"batch", or_null(made.batch)},
      {"learning_rate", chosen ? Json(chosen->learning_rate) : Json(nullptr)},
      {"seconds", chosen ? interval_json(measured_seconds(*chosen)) : Json(nullptr)},
      {"joules", chosen ? interval_json(measured_joules(*chosen)) : Json(nullptr)},
      {"sentence", sentence(made)},
      {"reasons", std::move(reasons)},
      {"command", made.command},
      {"seeds", made.seeds},
      {"learning_rate_rule", made.learning_rate_rule},
      {"base_learning_rate", made.base_learning_rate},
      {"base_batch", made.base_batch},
      {"seconds_basis", name(made.basis)},
      {"samples_in_epoch", or_null(made.samples_in_epoch)},
      {"noise_batch", or_null(made.noise_batch)},
      {"critical_batch", interval_json(made.critical_batch)},
      {"throughput_batch", or_null(made.throughput_batch)},
      {"best", or_null(made.best)},
      {"best_batch", or_null(made.best_batch)},
      {"metric_missing", made.metric_missing},
      {"cut_short", name(made.cut_short)},
      {"seconds_spent", made.seconds_spent},
      {"rows", std::move(rows)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<TimeToTarget> time_to_target_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  TimeToTarget made;
  Reader from(json);
  from.object("target", [&](Reader& inner) {
    std::string metric;
    inner.read("metric", metric);
    made.target.metric =
        metric == "loss" ? trial::Target::Metric::loss : trial::Target::Metric::accuracy;
    inner.read("value", made.target.value);
  });
  from.read("for_energy", made.for_energy);
  from.read("batch", made.batch);
  from.read("command", made.command);
  from.read("seeds", made.seeds);
  from.read("learning_rate_rule", made.learning_rate_rule);
  from.read("base_learning_rate", made.base_learning_rate);
  from.read("base_batch", made.base_batch);
  from.named("seconds_basis", made.basis, SecondsBasis::speed);
  from.read("samples_in_epoch", made.samples_in_epoch);
  from.read("noise_batch", made.noise_batch);
  from.read("critical_batch", made.critical_batch);
  from.read("throughput_batch", made.throughput_batch);
  from.read("best", made.best);
  from.read("best_batch", made.best_batch);
  from.read("metric_missing", made.metric_missing);
  from.named("cut_short", made.cut_short, CutShort::device_lost);
  from.read("seconds_spent", made.seconds_spent);
  from.list("rows", made.rows, read_target_row);
  const bool ascending = std::ranges::adjacent_find(made.rows, std::ranges::greater_equal{},
                                                    &TargetRow::batch) == made.rows.end();
  if (!from.ok() || !ascending || (made.batch && !made.chosen())) return std::nullopt;
  return made;
}

}  // namespace sweetspot::advise
