#include "workload/native/batch_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/number.h"
#include "core/text.h"

namespace sweetspot::workload::native {
namespace {

constexpr std::string_view usage = "write BATCH@EPOCH, as in --batch 64@0,256@1,1024@3";
constexpr std::int64_t most_batch = std::int64_t{1} << 40;
constexpr double most_epoch = 1'000'000;

BatchStage parse_stage(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos)
    throw core::InputError(fmt::format("'{}' in the schedule of batches names no epoch; {}",
                                       core::printable(text), usage));
  const std::string where = fmt::format("the batch of '{}'", core::printable(text));
  return {
      core::parse_whole(text.substr(0, at), where, 1, most_batch),
      core::parse_real(text.substr(at + 1), fmt::format("the epoch of '{}'", core::printable(text)),
                       {0}, {most_epoch})};
}

void check_order(const BatchStage& before, const BatchStage& stage) {
  if (stage.from_epoch == before.from_epoch)
    throw core::InputError(
        fmt::format("the schedule has two batches, {} and {}, from epoch {:g} on; keep one of them",
                    before.batch, stage.batch, stage.from_epoch));
  if (stage.from_epoch < before.from_epoch)
    throw core::InputError(
        fmt::format("the schedule's {}@{:g} comes after {}@{:g}; list the epochs in rising order",
                    stage.batch, stage.from_epoch, before.batch, before.from_epoch));
}

constexpr std::string_view word = "dynamic";
constexpr std::int64_t most_rung = std::int64_t{1} << 40;

}  // namespace

std::vector<BatchStage> parse_batch_schedule(std::string_view text) {
  std::vector<BatchStage> stages;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const BatchStage stage = parse_stage(text.substr(begin, end - begin));
    if (!stages.empty()) check_order(stages.back(), stage);
    stages.push_back(stage);
    begin = end + 1;
  }
  if (stages.front().from_epoch != 0)
    throw core::InputError(
        fmt::format("the schedule has no batch for the epochs before {:g}; begin it with BATCH@0",
                    stages.front().from_epoch));
  return stages;
}

std::string text(std::span<const BatchStage> stages) {
  std::string all;
  for (const BatchStage& stage : stages)
    all += fmt::format("{}{}@{}", all.empty() ? "" : ",", stage.batch, stage.from_epoch);
  return all;
}

std::int64_t batch_after(std::span<const BatchStage> stages, double epochs) {
  const auto next =
      std::ranges::upper_bound(stages, epochs + epoch_rounding, {}, &BatchStage::from_epoch);
  return std::prev(next)->batch;
}

std::vector<std::int64_t> DynamicBatch::ladder() const {
  std::vector<std::int64_t> rungs;
  for (std::int64_t batch = least; batch <= most; batch *= 2) rungs.push_back(batch);
  return rungs;
}

bool asks_for_dynamic_batch(std::string_view text) { return text.starts_with(word); }

DynamicBatch parse_dynamic_batch(std::string_view text) {
  if (text == word) return {};
  const std::size_t dots = text.find("..");
  if (text[word.size()] != ':' || dots == std::string_view::npos)
    throw core::InputError(fmt::format(
        "--batch '{}' is not known; write dynamic, or dynamic:LEAST..MOST as in dynamic:32..2048",
        core::printable(text)));
  const DynamicBatch batch{core::parse_whole(text.substr(word.size() + 1, dots - word.size() - 1),
                                             "the least batch of --batch dynamic", 1, most_rung),
                           core::parse_whole(text.substr(dots + 2),
                                             "the largest batch of --batch dynamic", 1, most_rung),
                           true};
  if (batch.most < batch.least)
    throw core::InputError(fmt::format(
        "a dynamic batch only grows, and {}..{} runs backwards; write the smaller one first",
        batch.least, batch.most));
  return batch;
}

}  // namespace sweetspot::workload::native
