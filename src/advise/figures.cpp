#include "advise/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "advise/phrases.h"
#include "core/text.h"

namespace sweetspot::advise {
namespace {

template <auto member>
constexpr auto write_member =
    [](JsonWriter& form, const char* key, const BatchRow& row) { form.field(key, row.*member); };
template <auto member>
constexpr auto read_member =
    [](JsonReader& form, const char* key, BatchRow& row) { form.field(key, row.*member); };
template <auto member>
Figure stored(Figure figure) {
  figure.write = write_member<member>, figure.read = read_member<member>;
  return figure;
}

// Unknown is a dash.
template <class T, class Words>
Cell known(const std::optional<T>& value, const Words& words) {
  return {value ? words(*value) : "–"};
}

// In whole percents, like the share itself; empty below half of one.
std::string reach_words(const core::Interval& share) {
  const double reach = 100 * std::max(share.high - share.mean, share.mean - share.low);
  return std::round(reach) >= 1 ? fmt::format("±{:.0f}", reach) : "";
}

Cell speed_cell(const BatchRow& row, const Recommendation&) {
  return known(row.samples_per_second,
               [](const core::Interval& speed) { return core::format_rounded(speed.mean); });
}

Cell share_cell(const BatchRow& row, const Recommendation& made) {
  Cell cell =
      known(row.share, [](const core::Interval& share) { return phrases::percent(share.mean); });
  if (row.share && row.batch != made.best_batch) cell.aside = reach_words(*row.share);
  return cell;
}

Cell within_cell(const BatchRow& row, const Recommendation& made) {
  if (row.batch == made.best_batch) return {};
  return known(row.within_tolerance, [](double probability) -> std::string {
    constexpr double certain = 0.99;
    if (probability < 1 - certain) return "no";
    return probability > certain ? "yes" : phrases::percent(probability);
  });
}

Cell energy_cell(const BatchRow& row, const Recommendation&) {
  return known(row.joules_per_sample,
               [](const core::Interval& joules) { return core::format_joules(joules.mean); });
}

Cell memory_cell(const BatchRow& row, const Recommendation&) {
  return known(row.memory, core::format_bytes);
}

Cell limit_cell(const BatchRow& row, const Recommendation&) {
  return known(row.limited_by, [](Bottleneck limit) { return std::string(words(limit)); });
}

std::string parts_of_batch(const Recommendation& made) {
  const trial::Setting& setting = made.setting;
  if (setting.accumulation == 1) return "";
  return fmt::format("{} × {}", phrases::size(setting.accumulation),
                     phrases::size(setting.micro_batch()));
}

std::string alike_of(const Recommendation& made) {
  if (alike(made).empty()) return "";
  return fmt::format("{} to {}", phrases::size(made.alike_low), phrases::size(made.alike_high));
}

std::string memory_of_answer(const Recommendation& made) {
  if (!made.memory_bytes) return "";
  return core::format_bytes(*made.memory_bytes) +
         (made.memory_device.empty() ? "" : " on " + made.memory_device);
}

const Figure before_settings[] = {
    {.page_title = "Batch",
     .of_answer = [](const Recommendation& made) { return phrases::size(made.setting.batch); }},
    {.page_title = "Made of", .of_answer = parts_of_batch},
    stored<&BatchRow::samples_per_second>({.json = "samples_per_second",
                                           .title = "samples/s",
                                           .short_title = "samples/s",
                                           .page_title = "Samples per second",
                                           .cell = speed_cell,
                                           .of_answer =
                                               [](const Recommendation& made) {
                                                 return core::format_rounded(
                                                     made.samples_per_second);
                                               }}),
    stored<&BatchRow::share>(
        {.json = "throughput_share",
         .title = "of the best",
         .short_title = "of best",
         .page_title = "Of the best",
         .cell = share_cell,
         .of_answer =
             [](const Recommendation& made) { return phrases::percent(made.throughput_share); }}),
    stored<&BatchRow::within_tolerance>({.json = "within_tolerance_probability",
                                         .title = "within {:g}%?",
                                         .short_title = "in {:g}%?",
                                         .cell = within_cell}),
    stored<&BatchRow::joules_per_sample>(
        {.json = "joules_per_sample",
         .title = "energy/sample",
         .short_title = "energy",
         .page_title = "Energy of a sample",
         .always = false,
         .cell = energy_cell,
         .of_answer =
             [](const Recommendation& made) {
               return made.joules_per_sample ? core::format_joules(*made.joules_per_sample) : "";
             }}),
};

const Figure after_settings[] = {
    {.page_title = "About as good", .of_answer = alike_of},
    stored<&BatchRow::memory>({.json = "memory_bytes",
                               .title = "memory",
                               .short_title = "memory",
                               .page_title = "Memory",
                               .cell = memory_cell,
                               .of_answer = memory_of_answer}),
    {.json = "bottleneck",
     .title = "limited by",
     .short_title = "limited by",
     .page_title = "Limited by",
     .left = true,
     .cell = limit_cell,
     .of_answer =
         [](const Recommendation& made) {
           return made.limited_by ? std::string(words(*made.limited_by)) : "";
         },
     .write =
         [](JsonWriter& form, const char* key, const BatchRow& row) {
           form.named(key, row.limited_by, Bottleneck::memory_capacity);
         },
     .read = [](JsonReader& form, const char* key,
                BatchRow& row) { form.named(key, row.limited_by, Bottleneck::memory_capacity); }},
};

}  // namespace

std::span<const Figure> figures() {
  static const std::vector<Figure> all = [] {
    std::vector<Figure> list(std::begin(before_settings), std::end(before_settings));
    for (const trial::SettingField& field : trial::setting_fields())
      if (field.preposition)
        list.push_back({.page_title = field.title, .of_answer = [&field](const auto& made) {
                          return std::ranges::count(told_fields(made), &field) > 0
                                     ? field.words(field.of(made.setting))
                                     : "";
                        }});
    list.insert(list.end(), std::begin(after_settings), std::end(after_settings));
    return list;
  }();
  return all;
}

}  // namespace sweetspot::advise
