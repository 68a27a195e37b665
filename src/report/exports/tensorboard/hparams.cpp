#include "report/exports/tensorboard/hparams.h"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/text.h"
#include "trial/setting_fields.h"

namespace sweetspot::report::tensorboard {
namespace {

// Fields of the HParams plugin's api.proto and plugin_data.proto, and of protobuf's struct.proto.
namespace plugin_data {
enum : int { experiment = 2, session_start_info = 3, session_end_info = 4 };
}
namespace experiment {
enum : int { description = 1, time_created_secs = 3, hparam_infos = 4, metric_infos = 5, name = 6 };
}
namespace hparam_info {
enum : int { name = 1, description = 3, type = 4, domain_discrete = 5, domain_interval = 6 };
enum : int { type_string = 1, type_float64 = 3 };
}  // namespace hparam_info
namespace interval {
enum : int { min_value = 1, max_value = 2 };
}
namespace list_value {
enum : int { values = 1 };
}
namespace metric_info {
enum : int { name = 1, display_name = 3 };
enum : int { name_tag = 2 };
}  // namespace metric_info
namespace session_start {
enum : int { hparams = 1, group_name = 4, start_time_secs = 5 };
enum : int { entry_key = 1, entry_value = 2 };
}  // namespace session_start
namespace session_end {
enum : int { status = 1, end_time_secs = 2 };
enum : int { success = 1, failure = 2 };
}  // namespace session_end
namespace value {
enum : int { number = 2, text = 3 };
}

constexpr const char* plugin = "hparams";

// One column of the HParams view.
struct Column {
  std::string name, description;
  std::function<trial::Value(const trial::Trial&)> of;
};

// What a program is told of its setting.
const std::vector<Column>& columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> made;
    for (const trial::SettingField& field : trial::setting_fields())
      if (field.placeholder)
        made.push_back({field.key, field.about,
                        [&field](const trial::Trial& t) { return field.of(t.setting); }});
    made.push_back({"device", "", [](const trial::Trial& t) { return t.device; }});
    return made;
  }();
  return all;
}

struct MetricColumn {
  const char* tag;
  const char* title;
};
constexpr MetricColumn metrics[] = {{metric::samples_per_second, "samples/s"},
                                    {metric::step_seconds, "step, s (median)"},
                                    {metric::memory_bytes, "memory, bytes"},
                                    {metric::energy_joules, "energy, J"},
                                    {metric::joules_per_sample, "energy of a sample, J"},
                                    {metric::test_accuracy, "test accuracy"}};

std::optional<double> number_of(const trial::Value& value) {
  return std::visit(
      []<class T>(const T& it) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(it);
        return std::nullopt;
      },
      value);
}

Message as_value(const trial::Value& of) {
  if (const auto number = number_of(of)) return Message().number(value::number, *number);
  return Message().text(value::text, core::printable(trial::plain(of)));
}

// With its values: without them the view can neither filter nor sort by the column.
Message column_info(const Column& column, const std::vector<trial::Trial>& trials) {
  std::set<trial::Value> values;
  for (const trial::Trial& trial : trials) values.insert(column.of(trial));
  Message info;
  info.text(hparam_info::name, column.name).text(hparam_info::description, column.description);
  const auto least = number_of(*values.begin()), most = number_of(*values.rbegin());
  if (least && most)
    return info.whole(hparam_info::type, hparam_info::type_float64)
        .message(hparam_info::domain_interval,
                 Message().number(interval::min_value, *least).number(interval::max_value, *most));
  Message list;
  for (const trial::Value& each : values) list.message(list_value::values, as_value(each));
  return info.whole(hparam_info::type, hparam_info::type_string)
      .message(hparam_info::domain_discrete, list);
}

Message in_plugin(int field, const Message& data) { return Message().message(field, data); }

std::string group_of(const trial::Trial& trial) {
  std::string name;
  for (const Column& column : columns())
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", column.name,
                        trial::plain(column.of(trial)));
  return core::printable(name);
}

}  // namespace

void add_experiment(Events& events, const ShownStudy& study, double at_unix_seconds) {
  Message made;
  made.text(experiment::description, core::printable(study.workload))
      .number(experiment::time_created_secs, at_unix_seconds)
      .text(experiment::name, fmt::format("sweetspot study {}", core::printable(study.number)));
  for (const Column& column : columns())
    made.message(experiment::hparam_infos, column_info(column, study.trials));
  for (const MetricColumn& column : metrics)
    made.message(experiment::metric_infos,
                 Message()
                     .message(metric_info::name, Message().text(metric_info::name_tag, column.tag))
                     .text(metric_info::display_name, column.title));
  events.plugin("_hparams_/experiment", plugin, in_plugin(plugin_data::experiment, made),
                at_unix_seconds);
}

void add_session(Events& events, const trial::Trial& trial) {
  Message start;
  for (const Column& column : columns())
    start.message(session_start::hparams,
                  Message()
                      .text(session_start::entry_key, column.name)
                      .message(session_start::entry_value, as_value(column.of(trial))));
  start.text(session_start::group_name, group_of(trial))
      .number(session_start::start_time_secs, trial.started_at);
  events.plugin("_hparams_/session_start_info", plugin,
                in_plugin(plugin_data::session_start_info, start), trial.started_at);
  const double ended_at = trial.started_at + trial.seconds;
  const Message end =
      Message()
          .whole(session_end::status,
                 trial.outcome == trial::Outcome::ok ? session_end::success : session_end::failure)
          .number(session_end::end_time_secs, ended_at);
  events.plugin("_hparams_/session_end_info", plugin, in_plugin(plugin_data::session_end_info, end),
                ended_at);
}

}  // namespace sweetspot::report::tensorboard
