#include <fmt/format.h>

#include "store/postgres/errors.h"
#include "store/postgres/rows.h"
#include "store/trial_fields.h"

namespace sweetspot::store::postgres {
namespace {

using core::MemoryByUse;
using trial::Interval;
using trial::PhaseSeconds;

struct Bind {
  Values& values;

  void put(Value value) { values.push_back(std::move(value)); }
  void put_bytes(core::Bytes bytes) { put(static_cast<std::int64_t>(bytes)); }

  void operator()(std::string_view, const auto& value) { put(value); }
  void operator()(std::string_view, bool value) { put(value ? 1 : 0); }
  void operator()(std::string_view, std::uint64_t value) { put(static_cast<std::int64_t>(value)); }
  void operator()(std::string_view, trial::Outcome outcome) { put(name(outcome)); }
  void operator()(std::string_view, const std::optional<trial::StopReason>& reason) {
    reason ? put(name(*reason)) : put(std::nullopt);
  }
  void operator()(std::string_view, const std::optional<core::Bytes>& value) {
    value ? put_bytes(*value) : put(std::nullopt);
  }
  void operator()(std::string_view, const std::optional<Interval>& value) {
    for (const auto part : {&Interval::mean, &Interval::low, &Interval::high})
      value ? put((*value).*part) : put(std::nullopt);
  }
  void operator()(std::string_view, const std::optional<PhaseSeconds>& value) {
    for (std::size_t i = 0; i < trial::phase_count; ++i)
      value ? put((*value)[i]) : put(std::nullopt);
  }
  void operator()(std::string_view, const std::optional<MemoryByUse>& value) {
    for (std::size_t i = 0; i < core::use_count; ++i)
      value ? put_bytes(value->bytes[i]) : put(std::nullopt);
  }
};

struct Read {
  const Result& result;
  std::size_t row, next = 0;

  Cell take() { return result.at(row, next++); }

  void operator()(std::string_view, std::int64_t& value) { value = take().whole(); }
  void operator()(std::string_view, std::uint64_t& value) {
    value = static_cast<std::uint64_t>(take().whole());
  }
  void operator()(std::string_view, int& value) { value = static_cast<int>(take().whole()); }
  void operator()(std::string_view, bool& value) { value = take().whole() != 0; }
  void operator()(std::string_view, double& value) { value = take().real(); }
  void operator()(std::string_view, std::string& value) { value = take().text(); }
  void operator()(std::string_view, trial::Outcome& value) {
    const auto outcome = trial::outcome_named(take().text());
    if (!outcome) throw Damaged{};
    value = *outcome;
  }
  void operator()(std::string_view, std::optional<trial::StopReason>& value) {
    const Cell cell = take();
    if (cell.is_null()) return;
    value = trial::stop_reason_named(cell.text());
    if (!value) throw Damaged{};
  }
  void operator()(std::string_view, std::optional<double>& value) {
    if (const Cell cell = take(); !cell.is_null()) value = cell.real();
  }
  void operator()(std::string_view, std::optional<core::Bytes>& value) {
    if (const Cell cell = take(); !cell.is_null()) value = static_cast<core::Bytes>(cell.whole());
  }
  void operator()(std::string_view, std::optional<std::int64_t>& value) {
    if (const Cell cell = take(); !cell.is_null()) value = cell.whole();
  }
  void operator()(std::string_view, std::optional<Interval>& value) {
    const Cell mean = take(), low = take(), high = take();
    if (!mean.is_null()) value = {mean.real(), low.real(), high.real()};
  }
  void operator()(std::string_view, std::optional<PhaseSeconds>& value) {
    PhaseSeconds phases{};
    bool known = true;
    for (double& seconds : phases)
      if (const Cell cell = take(); cell.is_null())
        known = false;
      else
        seconds = cell.real();
    if (known) value = phases;
  }
  void operator()(std::string_view, std::optional<MemoryByUse>& value) {
    MemoryByUse memory;
    bool known = true;
    for (core::Bytes& bytes : memory.bytes)
      if (const Cell cell = take(); cell.is_null())
        known = false;
      else
        bytes = static_cast<core::Bytes>(cell.whole());
    if (known) value = memory;
  }
};

const std::string& listed_columns() {
  static const std::string list = fmt::format("{}", fmt::join(trial_columns(), ", "));
  return list;
}

// "$1, $2, …" for the columns.
std::string numbered() {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= trial_columns().size(); ++i) names.push_back(fmt::format("${}", i));
  return fmt::format("{}", fmt::join(names, ", "));
}

Values bound(const trial::Trial& trial, Values others) {
  Values values;
  each_field(trial, Bind{values});
  values.insert(values.end(), others.begin(), others.end());
  return values;
}

// Nothing: it has arrived before.
std::optional<std::int64_t> insert_trial(Connection& connection, std::int64_t study,
                                         std::int64_t run, const std::string& token,
                                         const trial::Trial& trial) {
  const std::size_t n = trial_columns().size();
  static const std::string sql = fmt::format(
      "INSERT INTO trial ({}, study, run, token) VALUES ({}, ${}, ${}, ${})"
      " ON CONFLICT (token) DO NOTHING RETURNING id",
      listed_columns(), numbered(), n + 1, n + 2, n + 3);
  const Result inserted = connection.run(sql, bound(trial, {study, run, token}));
  if (inserted.rows() == 0) return std::nullopt;
  return inserted.at(0, 0).whole();
}

trial::Trial trial_at(const Result& rows, std::size_t row) {
  trial::Trial trial;
  Read read{rows, row};
  each_field(trial, read);
  read("id", trial.id);
  return trial;
}

}  // namespace

void update_trial(Connection& connection, std::int64_t study, std::int64_t run,
                  const trial::Trial& trial) {
  const std::size_t n = trial_columns().size();
  static const std::string sql =
      fmt::format("UPDATE trial SET ({}, run) = ({}, ${}) WHERE study = ${} AND id = ${}",
                  listed_columns(), numbered(), n + 1, n + 2, n + 3);
  if (connection.run(sql, bound(trial, {run, study, trial.id})).changed() != 1)
    throw Damaged{};  // what was there once is gone
}

std::int64_t save_trial(Connection& connection, std::int64_t study, std::int64_t run,
                        const std::string& token, const trial::Trial& trial) {
  if (trial.id != 0) {
    update_trial(connection, study, run, trial);
    delete_details(connection, trial.id);
    insert_details(connection, trial.id, trial);
    return trial.id;
  }
  if (const auto id = insert_trial(connection, study, run, token, trial)) {
    insert_details(connection, *id, trial);
    return *id;
  }
  return connection.run("SELECT id FROM trial WHERE token = $1", {token}).at(0, 0).whole();
}

void read_trials(Connection& connection, std::vector<trial::Study>& studies) {
  std::vector<std::int64_t> ids;
  for (const trial::Study& study : studies) ids.push_back(study.id);
  static const std::string sql = fmt::format(
      "SELECT {}, id, study FROM trial WHERE study = ANY($1) ORDER BY id", listed_columns());
  const Result rows = connection.run(sql, {array_of(ids)});
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const std::int64_t of = rows.at(row, trial_columns().size() + 1).whole();
    for (trial::Study& study : studies)
      if (study.id == of) study.trials.push_back(trial_at(rows, row));
  }
  std::vector<trial::Trial*> trials;
  for (trial::Study& study : studies)
    for (trial::Trial& trial : study.trials) trials.push_back(&trial);
  read_details(connection, trials);
}

std::optional<trial::Trial> select_trial(Connection& connection, std::int64_t id) {
  static const std::string sql =
      fmt::format("SELECT {}, id FROM trial WHERE id = $1", listed_columns());
  const Result rows = connection.run(sql, {id});
  if (rows.rows() == 0) return std::nullopt;
  trial::Trial trial = trial_at(rows, 0);
  read_details(connection, {&trial});
  read_steps_and_trace(connection, trial);
  return trial;
}

void add_setting(Values& values, const trial::Setting& setting) {
  each_setting_field(setting, Bind{values});
}

trial::Setting setting_at(const Result& result, std::size_t row, std::size_t first_column) {
  trial::Setting setting;
  each_setting_field(setting, Read{result, row, first_column});
  return setting;
}

}  // namespace sweetspot::store::postgres
