#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <limits>

#include "store/sqlite/errors.h"
#include "store/sqlite/rows.h"
#include "store/trial_fields.h"

namespace sweetspot::store::sqlite {
namespace {

using core::MemoryByUse;
using trial::Interval;
using trial::PhaseSeconds;

struct Bind {
  SQLite::Statement& statement;
  int next = 1;

  void put(const auto& value) { statement.bind(next++, value); }
  void put_null() { statement.bind(next++); }
  void put_text(std::string_view text) { put(std::string(text)); }

  void operator()(std::string_view, const auto& value) { put(value); }
  void operator()(std::string_view, bool value) { put(value ? 1 : 0); }
  void operator()(std::string_view, std::uint64_t value) { put(static_cast<std::int64_t>(value)); }
  void operator()(std::string_view, trial::Outcome outcome) { put_text(name(outcome)); }
  void operator()(std::string_view, const std::optional<trial::StopReason>& reason) {
    reason ? put_text(name(*reason)) : put_null();
  }
  void operator()(std::string_view, const std::optional<double>& value) {
    value ? put(*value) : put_null();
  }
  void operator()(std::string_view, const std::optional<core::Bytes>& value) {
    value ? put(static_cast<std::int64_t>(*value)) : put_null();
  }
  void operator()(std::string_view, const std::optional<std::int64_t>& value) {
    value ? put(*value) : put_null();
  }
  void operator()(std::string_view, const std::optional<Interval>& value) {
    for (const auto part : {&Interval::mean, &Interval::low, &Interval::high})
      value ? put((*value).*part) : put_null();
  }
  void operator()(std::string_view, const std::optional<PhaseSeconds>& value) {
    for (std::size_t i = 0; i < trial::phase_count; ++i) value ? put((*value)[i]) : put_null();
  }
  void operator()(std::string_view, const std::optional<MemoryByUse>& value) {
    for (std::size_t i = 0; i < core::use_count; ++i)
      value ? put(static_cast<std::int64_t>(value->bytes[i])) : put_null();
  }
};

double real(const SQLite::Column& column) {
  return column.isNull() ? std::numeric_limits<double>::quiet_NaN() : column.getDouble();
}

struct Read {
  SQLite::Statement& row;
  int next = 0;

  SQLite::Column take() { return row.getColumn(next++); }

  void operator()(std::string_view, std::int64_t& value) { value = take().getInt64(); }
  void operator()(std::string_view, std::uint64_t& value) {
    value = static_cast<std::uint64_t>(take().getInt64());
  }
  void operator()(std::string_view, int& value) { value = take().getInt(); }
  void operator()(std::string_view, bool& value) { value = take().getInt() != 0; }
  void operator()(std::string_view, double& value) { value = real(take()); }
  void operator()(std::string_view, std::string& value) { value = take().getString(); }
  void operator()(std::string_view, trial::Outcome& value) {
    const auto outcome = trial::outcome_named(take().getString());
    if (!outcome) throw Damaged{};
    value = *outcome;
  }
  void operator()(std::string_view, std::optional<trial::StopReason>& value) {
    const SQLite::Column column = take();
    if (column.isNull()) return;
    value = trial::stop_reason_named(column.getString());
    if (!value) throw Damaged{};
  }
  void operator()(std::string_view, std::optional<double>& value) {
    const SQLite::Column column = take();
    if (!column.isNull()) value = column.getDouble();
  }
  void operator()(std::string_view, std::optional<core::Bytes>& value) {
    const SQLite::Column column = take();
    if (!column.isNull()) value = static_cast<core::Bytes>(column.getInt64());
  }
  void operator()(std::string_view, std::optional<std::int64_t>& value) {
    const SQLite::Column column = take();
    if (!column.isNull()) value = column.getInt64();
  }
  void operator()(std::string_view, std::optional<Interval>& value) {
    const SQLite::Column mean = take(), low = take(), high = take();
    if (!mean.isNull()) value = {real(mean), real(low), real(high)};
  }
  void operator()(std::string_view, std::optional<PhaseSeconds>& value) {
    PhaseSeconds phases{};
    bool known = false;
    for (double& seconds : phases) {
      const SQLite::Column column = take();
      known = known || !column.isNull();
      seconds = real(column);
    }
    if (known) value = phases;
  }
  void operator()(std::string_view, std::optional<MemoryByUse>& value) {
    MemoryByUse memory;
    bool known = false;
    for (core::Bytes& bytes : memory.bytes) {
      const SQLite::Column column = take();
      known = known || !column.isNull();
      bytes = static_cast<core::Bytes>(column.getInt64());
    }
    if (known) value = memory;
  }
};

const std::string& listed_names() {
  static const std::string list = fmt::format("{}", fmt::join(trial_columns(), ", "));
  return list;
}

std::string placeholders() {
  return fmt::format("{}",
                     fmt::join(std::vector<std::string_view>(trial_columns().size(), "?"), ", "));
}

std::int64_t insert_trial(SQLite::Database& database, std::int64_t study, std::int64_t run,
                          const trial::Trial& trial) {
  static const std::string sql = fmt::format("INSERT INTO trial ({}, run, study) VALUES ({}, ?, ?)",
                                             listed_names(), placeholders());
  SQLite::Statement insert(database, sql);
  Bind bind{insert};
  each_field(trial, bind);
  bind.put(run);
  bind.put(study);
  insert.exec();
  return database.getLastInsertRowid();
}

}  // namespace

void update_trial(SQLite::Database& database, std::int64_t study, std::int64_t run,
                  const trial::Trial& trial) {
  static const std::string sql =
      fmt::format("UPDATE trial SET ({}, run) = ({}, ?) WHERE study = ? AND id = ?", listed_names(),
                  placeholders());
  SQLite::Statement update(database, sql);
  Bind bind{update};
  each_field(trial, bind);
  bind.put(run);
  bind.put(study);
  bind.put(trial.id);
  if (update.exec() != 1) throw Damaged{};  // what was there once is gone
}

std::int64_t save_trial(SQLite::Database& database, std::int64_t study, std::int64_t run,
                        const trial::Trial& trial) {
  std::int64_t id = trial.id;
  if (id == 0) {
    id = insert_trial(database, study, run, trial);
  } else {
    update_trial(database, study, run, trial);
    delete_details(database, id);
  }
  insert_details(database, id, trial);
  return id;
}

int bind_setting(SQLite::Statement& statement, int first, const trial::Setting& setting) {
  Bind bind{statement, first};
  each_setting_field(setting, bind);
  return bind.next;
}

trial::Setting setting_at(SQLite::Statement& row, int first) {
  trial::Setting setting;
  each_setting_field(setting, Read{row, first});
  return setting;
}

std::vector<trial::Trial> select_trials(SQLite::Database& database, std::int64_t study) {
  static const std::string sql =
      fmt::format("SELECT {}, id FROM trial WHERE study = ? ORDER BY id", listed_names());
  SQLite::Statement row(database, sql);
  row.bind(1, study);
  std::vector<trial::Trial> trials;
  while (row.executeStep()) {
    Read read{row};
    each_field(trials.emplace_back(), read);
    read("id", trials.back().id);
  }
  read_epochs(database, study, trials);
  read_evaluations(database, study, trials);
  read_gpus(database, study, trials);
  read_losses(database, study, trials);
  return trials;
}

}  // namespace sweetspot::store::sqlite
