#include "advise/critical_batch_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/answer_fields.h"
#include "core/text.h"

namespace sweetspot::advise {
namespace {

std::string checkpoint_words(double epochs) {
  return epochs == 0 ? "at the start"
                     : fmt::format("after {:g} epoch{}", epochs, epochs == 1 ? "" : "s");
}

// Between batches, so it need not contain the answer, which is one of those tried.
std::string crossing_words(const CriticalBatchAnswer& made) {
  if (!made.found->crossing || made.found->at_least) return "";
  return fmt::format(" (interpolated: {} to {} over {} seeds)",
                     core::format_count(made.found->crossing->low),
                     core::format_count(made.found->crossing->high), made.seeds());
}

// If the loss rises from the first batch on, that one may be beyond the critical batch itself.
std::string smallest_words(const CriticalBatchAnswer& made) {
  if (made.found->at_least || made.found->batch != made.rows.front().batch) return "";
  return " No larger batch stays within that, so a smaller one may do better still: lower --min.";
}

constexpr auto found_fields = [](auto& form, auto& found) {
  form.field("batch", found.batch);
  form.field("at_least", found.at_least);
  form.field("crossing", found.crossing);
};

constexpr auto row_of_branches_fields = [](auto& form, auto& row) {
  form.field("batch", row.batch);
  form.field("learning_rate", row.learning_rate);
  form.field("updates", row.updates);
  form.field("losses", row.losses);
  form.field("diverged", row.diverged);
  form.field("loss_ratio", row.ratio);
  form.field("within_tolerance", row.within_tolerance);
};

constexpr auto critical_batch_fields = [](auto& form, auto& made) {
  form.group("checkpoint", [&](auto& inner) {
    inner.field("epochs", made.epochs);
    inner.field("test_loss", made.checkpoint_loss);
    inner.field("noise_scale", made.noise_scale);
  });
  form.field("branch_samples", made.samples);
  form.field("tolerance", made.tolerance);
  form.field("learning_rate_rule", made.learning_rate_rule);
  form.object("critical_batch", made.found, [&](auto& inner, auto& found) {
    found_fields(inner, found);
    inner.derived("seeds", [&] { return made.seeds(); });
  });
  form.list("branches", made.rows, row_of_branches_fields);
};

}  // namespace

void CriticalBatchAnswer::set_found(const std::optional<convergence::CriticalBatch>& result) {
  if (!result) return;
  found = Found{result->batch, result->at_least, result->crossing};
  for (const convergence::BranchRow& row : result->rows)
    rows.push_back({row.batch,
                    {},
                    {},
                    row.losses,
                    static_cast<std::int64_t>(row.diverged),
                    row.losses.empty() ? std::nullopt : std::optional(row.ratio),
                    row.within});
}

std::int64_t CriticalBatchAnswer::seeds() const {
  return rows.empty()
             ? 0
             : static_cast<std::int64_t>(rows.front().losses.size()) + rows.front().diverged;
}

std::string sentence(const CriticalBatchAnswer& made, const std::string& workload) {
  if (!made.found) return "";
  return fmt::format(
      "The critical batch of {} {} is {}{}{}: up to there the loss after {} more samples stays "
      "within {:g}% of batch {}'s.{}",
      core::printable(workload), checkpoint_words(made.epochs),
      made.found->at_least ? "at least " : "",
      core::format_count(static_cast<double>(made.found->batch)), crossing_words(made),
      core::format_count(static_cast<double>(made.samples)), 100 * made.tolerance,
      core::format_count(static_cast<double>(made.rows.front().batch)), smallest_words(made));
}

std::string noise_sentence(const CriticalBatchAnswer& made) {
  if (!made.noise_scale)
    return "The noise scale there is not known: the gradient does not stand out from its noise.";
  return fmt::format(
      "The noise scale there predicts {} ({} to {}).", core::format_count(made.noise_scale->mean),
      core::format_count(made.noise_scale->low), core::format_count(made.noise_scale->high));
}

void add_fields(JsonWriter& form, const CriticalBatchAnswer& made) {
  critical_batch_fields(form, made);
}

void add_fields(JsonReader& form, CriticalBatchAnswer& made) {
  critical_batch_fields(form, made);
  const bool ascending =
      std::ranges::adjacent_find(made.rows, std::ranges::greater_equal{},
                                 &CriticalBatchAnswer::Row::batch) == made.rows.end();
  form.require(ascending && (!made.found || !made.rows.empty()));
}

}  // namespace sweetspot::advise
