#include "advise/batch_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "advise/answer_fields.h"
#include "core/text.h"

namespace sweetspot::advise {
namespace {

// Batches that are closer than this are not compared.
constexpr std::int64_t far_apart = 4;
// An unchanged total says nothing below this distance: many programs have a fixed number of steps.
constexpr std::int64_t far_apart_for_totals = 16;
// Unchanged step times and memory over less are not yet a clamp: another kernel or more threads
// also make a plateau.
constexpr std::int64_t clamp_apart = 16;
// Up to this multiple of the smallest batch, steps without visible growth are not trusted.
constexpr std::int64_t exhausting = 4096;
// Runs of the same work differ by some percent on an idle machine and by a quarter on a busy one.
constexpr double longer = 1.25;
// This much longer is not noise.
constexpr double much_longer = 2;
// Allocators and interpreters differ by some hundred KiB from run to run.
constexpr core::Bytes least_growth = 4 * core::MiB;
constexpr double least_growth_share = 0.03;

// What distinguishes a larger batch from a smaller one.
struct Moves {
  bool total = false, samples = false, memory = false, much_time = false, time = false;
  bool counted_alike = false;  // a count that should change did not

  // More than a time difference that may be noise.
  bool plainly() const { return total || samples || memory || much_time; }
  bool at_all() const { return plainly() || time; }
};

// "500", "50,000", "12,000": somebody typed this number of steps. The length of a loader is rarely
// so round.
bool looks_typed(std::int64_t total) {
  std::int64_t digits = total, zeros = 0;
  while (digits > 0 && digits % 10 == 0) digits /= 10, ++zeros;
  return digits <= 9 ? zeros >= 2 : digits <= 99 && zeros >= 3;
}

bool grew(core::Bytes from, core::Bytes to) {
  const auto least =
      std::max(static_cast<double>(least_growth), least_growth_share * static_cast<double>(from));
  return static_cast<double>(to) - static_cast<double>(from) >= least;
}

Moves moves(const BatchSigns& small, const BatchSigns& large) {
  Moves found;
  if (large.too_large) {  // the small one was not
    found.much_time = found.time = true;
    return found;
  }
  if (small.steps_total && large.steps_total) {
    // A fifth of the expected decrease of a step count: epochs may be included.
    found.total = 5 * *large.steps_total <= 4 * *small.steps_total;
    found.counted_alike = *large.steps_total == *small.steps_total &&
                          large.batch / far_apart_for_totals >= small.batch &&
                          !looks_typed(*large.steps_total);
  }
  for (const auto sign : {&BatchSigns::samples_per_step, &BatchSigns::sample_stride}) {
    const std::optional<std::int64_t>&before = small.*sign, &after = large.*sign;
    if (!before || !after) continue;
    found.samples = found.samples || 4 * *after >= 5 * *before;
    found.counted_alike = found.counted_alike || *after == *before;
  }
  if (small.memory && large.memory) found.memory = grew(*small.memory, *large.memory);
  if (small.step_seconds && large.step_seconds) {
    found.time = *large.step_seconds >= longer * *small.step_seconds;
    found.much_time = *large.step_seconds >= much_longer * *small.step_seconds;
  }
  return found;
}

bool are_far_apart(const BatchSigns& small, const BatchSigns& large) {
  return large.batch / far_apart >= small.batch;
}

// Its own count of samples per step decides, if none matches the request.
std::optional<BatchUseVerdict> told_by_its_own_count(std::span<const BatchSigns> batches) {
  const auto is_wrong = [](const BatchSigns& one) {
    return one.samples_per_step && *one.samples_per_step != one.batch;
  };
  const BatchSigns &small = batches.front(), &large = batches.back();
  if (!std::ranges::all_of(batches, is_wrong)) return std::nullopt;
  const std::int64_t first = *small.samples_per_step, last = *large.samples_per_step;
  if (first == last) return BatchUseVerdict{.use = BatchUse::ignored, .used = first};
  if (first * large.batch == last * small.batch)
    return BatchUseVerdict{.use = BatchUse::scaled,
                           .scale = static_cast<double>(last) / static_cast<double>(large.batch)};
  return std::nullopt;
}

// Where the line through two batches reaches this value.
template <class Value>
double batch_at(const BatchSigns& a, const BatchSigns& b, double value, const Value& of) {
  const double rise = (of(b) - of(a)) / static_cast<double>(b.batch - a.batch);
  return rise > 0 ? static_cast<double>(b.batch) + (value - of(b)) / rise
                  : static_cast<double>(b.batch);
}

struct Clamp {
  double batch = 1, most = 1;  // about, and at most
};

// The batch that the ones from `edge` on run as, by the program's own counts.
std::optional<Clamp> counted_clamp(const BatchSigns& first, const BatchSigns& edge) {
  const auto batch = static_cast<double>(first.batch);
  for (const auto sign : {&BatchSigns::samples_per_step, &BatchSigns::sample_stride})
    if (first.*sign && edge.*sign) {
      const double found =
          batch * static_cast<double>(*(edge.*sign)) / static_cast<double>(*(first.*sign));
      return Clamp{found, found};
    }
  if (!first.steps_total || !edge.steps_total || *edge.steps_total < 1) return std::nullopt;
  // The last step of an epoch may be short.
  const double samples = batch * static_cast<double>(*first.steps_total);
  const auto steps = static_cast<double>(*edge.steps_total);
  return Clamp{samples / steps, steps > 1 ? samples / (steps - 1) : samples};
}

// The same from the line through step times or memory.
Clamp estimated_clamp(std::span<const BatchSigns> below, const BatchSigns& edge) {
  constexpr double reach = 1.1;  // their spread between runs
  const BatchSigns& last = below.back();
  const BatchSigns* before = below.size() > 1 ? &below[below.size() - 2] : nullptr;
  const auto batch = [](const BatchSigns& one) { return static_cast<double>(one.batch); };
  const auto seconds = [](const BatchSigns& one) { return *one.step_seconds; };
  const auto bytes = [](const BatchSigns& one) { return static_cast<double>(*one.memory); };
  double found = batch(last);
  if (last.step_seconds && edge.step_seconds && seconds(edge) > longer * seconds(last)) {
    // With one batch the fixed part is unknown: at least zero.
    found = before && before->step_seconds ? batch_at(*before, last, seconds(edge), seconds)
                                           : batch(last) * seconds(edge) / seconds(last);
  } else if (before && before->memory && last.memory && edge.memory) {
    found = batch_at(*before, last, bytes(edge), bytes);
  }
  found = std::clamp(found, batch(last), batch(edge));
  return {found, reach * found};
}

std::int64_t power_of_two_up_to(double value) {
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max(1.0, value))));
}

// A clamp is usually a power of two.
BatchUseVerdict clamped_at(std::span<const BatchSigns> below, const BatchSigns& edge) {
  const auto counted = counted_clamp(below.front(), edge);
  const Clamp clamp = counted ? *counted : estimated_clamp(below, edge);
  BatchUseVerdict verdict{.use = BatchUse::clamped};
  verdict.clamp = std::llround(clamp.batch);
  std::int64_t limit = std::max(below.back().batch, power_of_two_up_to(clamp.most));
  if (static_cast<double>(edge.batch) <= clamp.most) limit = std::max(limit, edge.batch);
  verdict.limit = limit;
  verdict.clamp = std::max(*verdict.clamp, limit);  // within the error, the more likely one
  return verdict;
}

BatchUseVerdict judged(std::span<const BatchSigns> batches) {
  const BatchSigns& top = batches.back();
  // The adjacent batches below it that look the same.
  std::size_t edge = batches.size() - 1;
  while (edge > 0 && !moves(batches[edge - 1], top).at_all()) --edge;
  if (!are_far_apart(batches[edge], top)) {
    if (edge > 0) return {.use = BatchUse::used};
    return {.use = BatchUse::too_few};
  }
  const Moves across = moves(batches[edge], top);
  const bool exhausted = top.batch / exhausting >= batches.front().batch;
  if (edge == 0) {
    const BatchSigns& bottom = batches[0];
    if (top.step_seconds && bottom.step_seconds && !top.samples_per_step &&
        much_longer * *top.step_seconds <= bottom.least_step_seconds.value_or(*bottom.step_seconds))
      return {.use = BatchUse::miscounted};
    if (across.counted_alike) return {.use = BatchUse::ignored};
    return {.use = BatchUse::silent, .exhausted = exhausted};
  }
  // Something changed below. A step that grows slightly and then stays may be on a GPU that larger
  // batches fill.
  if (moves(batches.front(), batches[edge]).plainly()) {
    BatchUseVerdict clamped = clamped_at(batches.first(edge), batches[edge]);
    clamped.exhausted = counted_clamp(batches.front(), batches[edge]) ||
                        top.batch / clamp_apart >= batches[edge].batch;
    return clamped;
  }
  return {.use = BatchUse::silent, .exhausted = exhausted};
}

}  // namespace

std::vector<BatchSigns> batch_signs(std::span<const trial::Trial> trials) {
  struct Runs {
    BatchSigns signs;
    double log_seconds = 0;
    int timed = 0;
  };
  std::map<std::int64_t, Runs> by_batch;
  for (const trial::Trial& trial : trials) {
    const bool is_ok = trial.outcome == trial::Outcome::ok;
    const bool too_large = trial.outcome == trial::Outcome::out_of_memory ||
                           (trial.outcome == trial::Outcome::timed_out && trial.steps > 0);
    const bool tells = trial.samples_per_step || trial.sample_stride || trial.step_seconds_median;
    if (!is_ok && !too_large && !tells) continue;
    Runs& runs = by_batch[trial.setting.batch];
    BatchSigns& signs = runs.signs;
    signs.batch = trial.setting.batch;
    signs.too_large = signs.too_large || too_large;
    if (trial.steps_total) signs.steps_total = trial.steps_total;
    if (trial.samples_per_step) signs.samples_per_step = trial.samples_per_step;
    if (trial.sample_stride) signs.sample_stride = trial.sample_stride;
    // Log lines of samples say nothing about steps: their time is that of the requested samples.
    const bool has_step_time = !trial.sample_stride;
    if (trial.memory_measured)
      signs.memory = std::max(signs.memory.value_or(0), *trial.memory_measured);
    std::optional<double> seconds;
    if (has_step_time && trial.samples_per_second && trial.samples_per_second->mean > 0) {
      seconds = static_cast<double>(trial.setting.batch) / trial.samples_per_second->mean;
      if (trial.contention.contended)
        signs.least_step_seconds =
            std::min(signs.least_step_seconds.value_or(*seconds),
                     static_cast<double>(trial.setting.batch) / trial.samples_per_second->high);
    } else if (has_step_time) {
      seconds = trial.step_seconds_median;
    }
    if (seconds && *seconds > 0 && std::isfinite(*seconds)) {
      runs.log_seconds += std::log(*seconds), ++runs.timed;
      signs.step_seconds = std::exp(runs.log_seconds / runs.timed);
    }
  }
  std::vector<BatchSigns> list;
  for (const auto& [batch, runs] : by_batch) list.push_back(runs.signs);
  return list;
}

BatchUseVerdict batch_use(std::span<const BatchSigns> batches) {
  if (batches.empty()) return {};
  if (const auto told = told_by_its_own_count(batches)) return *told;
  return batches.size() < 2 ? BatchUseVerdict{} : judged(batches);
}

bool is_doubtful(const BatchUseVerdict& verdict) { return verdict.use >= BatchUse::scaled; }

bool is_settled_doubt(const BatchUseVerdict& verdict) {
  return is_doubtful(verdict) && (verdict.use != BatchUse::silent || verdict.exhausted);
}

std::string_view name(BatchUse use) {
  constexpr std::array<std::string_view, 7> names{"too_few",    "arrives", "clamped", "scaled",
                                                  "miscounted", "silent",  "ignored"};
  return names[static_cast<std::size_t>(use)];
}

namespace {

std::string figure(std::int64_t value) { return core::format_count(static_cast<double>(value)); }

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

template <class Words>
std::string of_each(const Doubt& doubt, const Words& words) {
  std::vector<std::string> each;
  for (const BatchSigns& signs : doubt.batches) each.push_back(words(signs));
  return listed(each);
}

template <class Sign>
bool all_have(const Doubt& doubt, const std::optional<Sign> BatchSigns::*sign) {
  return std::ranges::all_of(doubt.batches,
                             [&](const BatchSigns& signs) { return (signs.*sign).has_value(); });
}

std::string batches_of(const Doubt& doubt) {
  return (doubt.batches.size() == 1 ? "batch " : "batches ") +
         of_each(doubt, [](const BatchSigns& signs) { return figure(signs.batch); });
}

std::string step_times(const Doubt& doubt) {
  if (!all_have(doubt, &BatchSigns::step_seconds)) return "its steps do not tell";
  return "a step takes " + of_each(doubt, [](const BatchSigns& signs) {
           return core::format_duration(core::Seconds(*signs.step_seconds));
         });
}

// The counts that should have changed and did not.
std::string counts(const Doubt& doubt) {
  const BatchSigns &first = doubt.batches.front(), &last = doubt.batches.back();
  std::string text;
  if (first.steps_total && first.steps_total == last.steps_total)
    text += fmt::format(", its counter ends at {} each time", figure(*first.steps_total));
  if (first.sample_stride && first.sample_stride == last.sample_stride)
    text +=
        fmt::format(", its count of samples rises by {} each time", figure(*first.sample_stride));
  if (first.memory && last.memory) text += ", and memory does not grow";
  return text;
}

std::string matter(const Doubt& doubt) {
  switch (doubt.use) {
    case BatchUse::ignored:
      if (doubt.used)
        return fmt::format("the program does not use its batch: at {} a step had {} samples",
                           batches_of(doubt), figure(*doubt.used));
      return fmt::format("the program does not seem to use its batch: at {} {}{}",
                         batches_of(doubt), step_times(doubt), counts(doubt));
    case BatchUse::scaled:
      return fmt::format(
          "a step of the program has {:g} times the samples of the batch that it is given: at {} "
          "it had {}",
          doubt.scale.value_or(0), batches_of(doubt), of_each(doubt, [](const BatchSigns& signs) {
            return signs.samples_per_step ? figure(*signs.samples_per_step) : "?";
          }));
    case BatchUse::miscounted:
      return fmt::format(
          "what the program counts gets shorter as its batch grows, so it is no step but a sample "
          "or an epoch: at {} {}",
          batches_of(doubt), step_times(doubt));
    default:
      return fmt::format("nothing shows that the program uses its batch: at {} {}{}",
                         batches_of(doubt), step_times(doubt), counts(doubt));
  }
}

std::string way_out(const Doubt& doubt) {
  const std::string handed =
      fmt::format("the batch is handed over {}", core::printable(doubt.destination));
  switch (doubt.use) {
    case BatchUse::scaled:
      return handed +
             ": is it that of each GPU or process? Then say --batch-is per-gpu and --gpus, how "
             "many there are";
    case BatchUse::miscounted:
      return "name the counter of its steps with --steps-regex (docs/programs.md), or say "
             "--batch-arrives if they are steps";
    default:
      if (doubt.used && doubt.batches.size() == 1)
        return handed +
               ": check that the program takes it from there, and that what "
               "sweetspot.step() is told are the samples of one GPU or process";
      return handed +
             ": check that the program takes it from there and gives it to its data loader, and "
             "that no config file or default stands in its way; --batch-arrives says that it does "
             "arrive";
  }
}

constexpr auto signs_fields = [](auto& form, auto& signs) {
  form.field("batch", signs.batch);
  form.field("step_seconds", signs.step_seconds);
  form.field("memory_bytes", signs.memory);
  form.field("steps_total", signs.steps_total);
  form.field("samples_per_step", signs.samples_per_step);
  form.field("sample_stride", signs.sample_stride);
  form.field("least_step_seconds", signs.least_step_seconds);
};

constexpr auto doubt_fields = [](auto& form, auto& doubt) {
  form.named("doubt", doubt.use, BatchUse::ignored);
  form.derived("text", [&] { return words(doubt); });
  form.field("handover", doubt.destination);
  form.field("scale", doubt.scale);
  form.field("samples_used", doubt.used);
  form.list("batches", doubt.batches, signs_fields);
};

}  // namespace

std::string words(const Doubt& doubt) {
  if (doubt.batches.empty()) return "";
  return matter(doubt) + "; " + way_out(doubt);
}

void add_fields(JsonWriter& form, const Doubt& doubt) { doubt_fields(form, doubt); }

void add_fields(JsonReader& form, Doubt& doubt) {
  doubt_fields(form, doubt);
  form.require(!doubt.batches.empty());
}

}  // namespace sweetspot::advise
