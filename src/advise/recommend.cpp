#include <algorithm>
#include <cmath>
#include <map>

#include "advise/advise.h"
#include "advise/bottleneck.h"
#include "core/text.h"
#include "trial/trial.h"

namespace sweetspot::advise {
namespace {

using TrialsByBatch = std::map<std::int64_t, std::vector<const trial::Trial*>>;

bool is_ok(const trial::Trial* trial) { return trial->outcome == trial::Outcome::ok; }

// Arbitrary text truncated to a table cell.
std::string short_line(const std::string& text) {
  constexpr std::size_t most_columns = 90;
  const std::string line =
      core::printable(core::trimmed(std::string_view(text).substr(0, text.find_first_of("\r\n"))));
  std::string_view rest = line;
  std::size_t columns = 0;
  while (!rest.empty() && columns < most_columns)
    rest.remove_prefix(core::printable_bytes(rest)), ++columns;
  return rest.empty() ? line : line.substr(0, line.size() - rest.size()) + "…";
}

std::optional<double> mean_wait(const std::vector<const trial::Trial*>& trials) {
  double sum = 0, count = 0;
  for (const trial::Trial* trial : trials)
    if (const auto share = data_wait_share(*trial); share && is_ok(trial)) sum += *share, ++count;
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// A limit applies to a whole run: its prediction counts, else the highest peak.
std::optional<core::Bytes> memory_of(std::int64_t batch,
                                     const std::vector<const trial::Trial*>& trials,
                                     const Facts& facts) {
  if (facts.predict_run)
    if (const auto predicted = facts.predict_run(batch)) return predicted;
  std::optional<core::Bytes> peak;
  for (const trial::Trial* trial : trials)
    if (const auto& each =
            trial->memory_measured ? trial->memory_measured : trial->memory_predicted)
      peak = std::max(peak.value_or(0), *each);
  return peak;
}

std::string memory_device(const std::vector<const trial::Trial*>& trials) {
  for (const trial::Trial* trial : trials)
    if (const trial::GpuUse* gpu = trial::fullest(trial->gpus); gpu && is_ok(trial))
      return core::printable(trial::full_name(*gpu));
  return "";
}

// As many as a trial used at once, if it used several.
std::optional<std::int64_t> gpus_of(const std::vector<const trial::Trial*>& trials) {
  std::size_t most = 0;
  for (const trial::Trial* trial : trials) most = std::max(most, trial->gpus.size());
  return most > 1 ? std::optional(static_cast<std::int64_t>(most)) : std::nullopt;
}

BatchRow measured_row(const search::BatchSpeed& speed, double best_samples_per_second,
                      const std::vector<const trial::Trial*>& trials,
                      const std::optional<StepCost>& cost, const Facts& facts) {
  BatchRow row;
  row.batch = speed.batch;
  row.samples_per_second = speed.samples_per_second;
  // Each curve has its own best, so the mean over curves is less than the ratio of the speeds
  // quoted here, which users could not reproduce.
  const double share = speed.samples_per_second.mean / best_samples_per_second;
  row.share = {share, std::min(share, speed.share.low), std::max(share, speed.share.high)};
  row.within_tolerance = speed.within_tolerance;
  row.memory = memory_of(speed.batch, trials, facts);
  // Expected values are only for the search.
  if (std::ranges::any_of(trials, [](const trial::Trial* trial) {
        return is_ok(trial) && trial::joules_per_sample(*trial);
      }))
    row.joules_per_sample = speed.joules_per_sample;
  row.limited_by =
      limit_of({speed.batch, speed.samples_per_second.mean, mean_wait(trials)}, cost, facts);
  return row;
}

// Those that were measured, and those that failed.
std::vector<BatchRow> rows_of(const TrialsByBatch& trials, const search::Decision& decision,
                              const Recommendation& made, const Facts& facts) {
  std::map<std::int64_t, BatchRow> rows;
  for (const auto& [batch, list] : trials)
    for (const trial::Trial* trial : list) {
      if (is_ok(trial) || trial->outcome == trial::Outcome::cancelled) continue;
      BatchRow& row = rows[batch];
      row.batch = batch, row.outcome = trial->outcome, row.note = short_line(trial->note);
      if (trial->outcome == trial::Outcome::out_of_memory)
        row.limited_by = Bottleneck::memory_capacity;
    }
  const std::vector<const trial::Trial*> none;
  for (const search::BatchSpeed& speed : decision.speeds) {
    const auto found = trials.find(speed.batch);
    rows[speed.batch] =
        measured_row(speed, made.best_samples_per_second,
                     found == trials.end() ? none : found->second, made.step_cost, facts);
  }
  std::vector<BatchRow> list;
  for (auto& [batch, row] : rows) list.push_back(std::move(row));
  return list;
}

// Whether a batch is known only from contended trials.
bool only_contended(const TrialsByBatch& trials, std::int64_t batch) {
  const auto found = trials.find(batch);
  return found != trials.end() && std::ranges::any_of(found->second, is_ok) &&
         std::ranges::all_of(found->second, [](const trial::Trial* trial) {
           return !is_ok(trial) || trial->contention.contended;
         });
}

std::optional<double> slowed_share(std::span<const trial::Trial> trials) {
  double seconds = 0, slowed = 0;
  for (const trial::Trial& trial : trials)
    if (const auto share = trial.contention.slowed_share)
      seconds += trial.seconds, slowed += trial.seconds * *share;
  return seconds > 0 ? std::optional(slowed / seconds) : std::nullopt;
}

void add_contention(Recommendation& made, std::span<const trial::Trial> trials,
                    const TrialsByBatch& by_batch) {
  made.contended =
      only_contended(by_batch, made.batch) || only_contended(by_batch, made.best_batch);
  for (const trial::Trial& trial : trials)
    if (trial.contention.contended)
      made.contention_reason =
          trial.contention.reason.empty() ? "other work" : short_line(trial.contention.reason);
  made.slowed_share = slowed_share(trials);
}

// Loading that limits only smaller batches is hidden by a larger one; workers would hide it too.
void add_loading_below(Recommendation& made, const TrialsByBatch& trials) {
  for (const BatchRow& row : made.rows) {
    if (row.batch >= made.batch || row.limited_by != Bottleneck::data_loading) continue;
    for (const trial::Trial* trial : trials.at(row.batch))
      if (const auto advice = loader_advice(*trial); advice && is_ok(trial))
        made.loading_batch = row.batch, made.loading_advice = advice;
  }
}

void add_loaders(Recommendation& made, const TrialsByBatch& trials, const Facts& facts) {
  made.worker_search = facts.worker_search;
  made.loader_check = facts.loader_check;
  if (!facts.loader_check && facts.has_loader) add_loading_below(made, trials);
  if (!facts.loader_check || !check_helped(*facts.loader_check)) return;
  const LoaderCheck& check = *facts.loader_check;
  made.setting.configuration.workers = check.workers,
  made.setting.configuration.prefetch = check.prefetch;
  made.samples_per_second = *check.samples_per_second;
  made.throughput_share = std::min(1.0, made.samples_per_second / made.best_samples_per_second);
  if (check.memory_bytes) made.memory_bytes = check.memory_bytes;
}

void add_energy(Recommendation& made) {
  for (const BatchRow& row : made.rows) {
    if (!row.joules_per_sample) continue;
    if (row.batch == made.batch) made.joules_per_sample = row.joules_per_sample->mean;
    if (row.batch == made.best_batch) made.best_joules_per_sample = row.joules_per_sample->mean;
  }
}

// Whether the line matches the measurement at the answer: else the table would contradict it.
bool line_holds(const Recommendation& made) {
  constexpr double about = 0.1;
  if (!made.step_cost) return false;
  const double step = static_cast<double>(made.batch) / made.chosen_row()->samples_per_second->mean;
  return std::abs(made.step_cost->seconds(made.batch) / step - 1) <= about;
}

void add_given_up(Recommendation& made) {
  const auto row = std::ranges::find(made.rows, made.best_batch, &BatchRow::batch);
  if (row == made.rows.end() || row->batch == made.batch || !row->samples_per_second) return;
  GivenUp given_up;
  given_up.batch = row->batch;
  given_up.samples_per_second = row->samples_per_second->mean;
  given_up.faster = std::max(0.0, given_up.samples_per_second / made.samples_per_second - 1);
  given_up.memory = row->memory;
  if (row->memory && made.memory_bytes && *made.memory_bytes > 0)
    given_up.times_memory =
        static_cast<double>(*row->memory) / static_cast<double>(*made.memory_bytes);
  if (const auto noise = noise_scale(made); noise && noise->mean > 0 && !made.global_batch)
    given_up.times_noise_scale = static_cast<double>(row->batch) / noise->mean;
  made.given_up = given_up;
}

std::vector<Reason> reasons_of(const Recommendation& made) {
  constexpr double worth_a_word = 0.05, worth_giving_up = 0.01;
  const bool knee = made.objective == search::Objective::throughput;
  std::vector<Reason> list;
  const auto add = [&](bool there, Reason reason) {
    if (there) list.push_back(reason);
  };
  // Before everything else.
  add(made.cut_short.has_value(), Reason::cut_short);
  add(made.clamp_batch.has_value(), Reason::clamped);
  add(made.confirmation.has_value(), Reason::confirmation);
  add(made.inputs_vary, Reason::inputs_vary);
  add(made.previous_batch.has_value(), Reason::changed);
  add(!made.contention_reason.empty(), Reason::contended);
  add(made.objective == search::Objective::energy && made.joules_per_sample, Reason::energy);
  add(noise_scale(made).has_value(), Reason::noise);
  add(made.learning_rate.has_value(), Reason::learning_rate);
  add(line_holds(made), Reason::step_cost);
  add(made.limited_by.has_value(), Reason::limit);
  // For energy the sentence itself compares it with the fastest.
  add(made.objective != search::Objective::energy && made.given_up &&
          made.given_up->faster >= worth_giving_up,
      Reason::given_up);
  add(made.slow_kernel.has_value(), Reason::slow_kernel);
  add(made.slowed_share.value_or(0) >= worth_a_word, Reason::neighbours);
  add(made.loader_check.has_value(), Reason::loader);
  add(made.worker_search && made.worker_search->tried.size() > 1, Reason::workers);
  add(made.loading_advice.has_value(), Reason::loading_below);
  add(made.global_batch.has_value(), Reason::accumulation);
  add(knee && made.knee_low < made.knee_high, Reason::knee);
  add(made.memory_bytes.has_value(), Reason::memory);
  add(made.gpus.value_or(1) > 1, Reason::several_gpus);
  add(made.scaling.has_value(), Reason::scaling);
  add(!made.notes.empty(), Reason::note);
  return list;
}

// Why its memory is unknown, as of an allocator that takes everything.
void add_note(Recommendation& made, const std::vector<const trial::Trial*>& of_chosen) {
  const auto noted = std::ranges::find_if(
      of_chosen, [](const trial::Trial* trial) { return !trial->note.empty(); });
  if (noted != of_chosen.end()) made.notes.push_back((*noted)->note);
}

void add_learning_rate(Recommendation& made, const std::vector<const trial::Trial*>& of_chosen,
                       const Facts& facts) {
  made.noise = facts.noise;
  if (!facts.noise)  // a program's trial covers its first steps
    for (const trial::Trial* trial : of_chosen)
      if (trial->noise_scale) made.noise = {trial->noise_scale, std::nullopt, 0};
  if (!facts.rate_base) return;
  LearningRate rate = learning_rate_for(*facts.rate_base, made.setting.batch, noise_scale(made));
  for (const trial::RateRun& run : facts.tried_rates)
    if (rate.by_rule == run.learning_rate) rate.tried = facts.tried_rates;
  choose_among_tried(rate);
  made.setting.learning_rate = rate.rate;
  made.learning_rate = std::move(rate);
}

const search::BatchSpeed* speed_at(const search::Decision& decision, std::int64_t batch) {
  const auto found = std::ranges::find(decision.speeds, batch, &search::BatchSpeed::batch);
  return found == decision.speeds.end() ? nullptr : &*found;
}

// The setting of a trial of that batch; with a given batch, as many micro-batches as make it.
trial::Setting setting_of(const std::vector<const trial::Trial*>& trials, std::int64_t batch,
                          const Facts& facts) {
  const auto ok = std::ranges::find_if(trials, is_ok);
  trial::Setting setting = (ok == trials.end() ? trials.front() : *ok)->setting;
  setting.batch = batch;
  if (facts.global_batch)
    setting.accumulation = *facts.global_batch / batch, setting.batch = *facts.global_batch;
  return setting;
}

}  // namespace

const BatchRow* Recommendation::chosen_row() const {
  const auto found = std::ranges::find(rows, batch, &BatchRow::batch);
  return found == rows.end() ? nullptr : &*found;
}

bool check_helped(const LoaderCheck& check) {
  constexpr double worth_changing = 1.05;
  return check.samples_per_second &&
         *check.samples_per_second > worth_changing * check.samples_per_second_before;
}

std::optional<Recommendation> recommend(std::span<const trial::Trial> trials,
                                        const search::Decision& decision, const Facts& facts) {
  TrialsByBatch by_batch;
  for (const trial::Trial& trial : trials) by_batch[trial.setting.batch].push_back(&trial);
  const search::BatchSpeed* chosen = speed_at(decision, decision.batch);
  const search::BatchSpeed* best = speed_at(decision, decision.best_batch);
  const auto of_chosen = by_batch.find(decision.batch);
  if (!chosen || !best || of_chosen == by_batch.end()) return std::nullopt;
  Recommendation made;
  made.setting = setting_of(of_chosen->second, decision.batch, facts);
  made.objective = facts.limits.objective, made.tolerance = facts.limits.tolerance;
  made.global_batch = facts.global_batch;
  made.batch = decision.batch, made.best_batch = decision.best_batch;
  made.samples_per_second = chosen->samples_per_second.mean;
  made.best_samples_per_second =
      std::max(best->samples_per_second.mean, facts.limits.best_elsewhere.value_or(0));
  made.memory_limit = memory::allowed(trials, facts.limits.memory);
  made.memory_device = memory_device(of_chosen->second);
  made.batch_is = facts.batch_is;
  made.gpus = facts.gpus;
  if (!made.gpus) made.gpus = gpus_of(of_chosen->second);
  made.ranks = facts.ranks;
  if (facts.scaling && facts.scaling->ranks == made.ranks) made.scaling = facts.scaling;
  made.largest_batch = facts.largest_fitting;
  made.clamp_batch = facts.clamp;
  made.knee_low = decision.knee_low, made.knee_high = decision.knee_high;
  made.alike_low = decision.alike_low, made.alike_high = decision.alike_high;
  made.regret = decision.regret;
  made.step_cost = step_cost(decision);
  made.rows = rows_of(by_batch, decision, made, without_other_ends(facts, trials));
  made.throughput_share = made.chosen_row()->share->mean;
  made.memory_bytes = made.chosen_row()->memory;
  made.has_run_memory = facts.predict_run && facts.predict_run(made.batch);
  made.confirmation = facts.confirmation;
  for (const trial::Trial* trial : of_chosen->second)
    if (trial->memory_margin)
      made.memory_margin = std::max(made.memory_margin.value_or(0), *trial->memory_margin);
  // Inputs vary at every batch; few steps of one may not show it.
  made.inputs_vary = std::ranges::any_of(trials, &trial::Trial::inputs_vary);
  made.limited_by = made.chosen_row()->limited_by;
  add_energy(made);
  made.data_wait_share = mean_wait(of_chosen->second);
  made.slow_kernel = of_whole_step(facts.slow_kernel, made.data_wait_share.value_or(0));
  if (const RooflineShare share = roofline_share(made.samples_per_second, facts);
      share.flops || share.bytes)
    made.roofline = share;
  add_loaders(made, by_batch, facts);
  add_contention(made, trials, by_batch);
  add_learning_rate(made, of_chosen->second, facts);
  add_given_up(made);
  if (facts.limits.previous && *facts.limits.previous != decision.batch)
    made.previous_batch = facts.limits.previous;
  made.cut_short = facts.cut_short, made.budget_seconds = facts.budget_seconds;
  made.notes = facts.notes;
  if (!made.memory_bytes) add_note(made, of_chosen->second);
  made.reasons = reasons_of(made);
  return made;
}

}  // namespace sweetspot::advise
