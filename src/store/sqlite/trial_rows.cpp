#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "store/sqlite/errors.h"
#include "store/sqlite/rows.h"
#include "store/step_blob.h"
#include "store/trial_fields.h"

namespace sweetspot::store::sqlite {
namespace {

void insert_steps(SQLite::Database& database, std::int64_t id,
                  const std::vector<trial::Step>& steps) {
  const std::string data = pack(steps);
  SQLite::Statement insert(database, "INSERT INTO steps (trial, layout, data) VALUES (?, ?, ?)");
  insert.bind(1, id);
  insert.bind(2, step_layout);
  insert.bindNoCopy(3, data.data(), static_cast<int>(data.size()));
  insert.exec();
}

void insert_trace(SQLite::Database& database, std::int64_t id,
                  const std::vector<trial::Reading>& trace) {
  const std::string data = pack(trace);
  SQLite::Statement insert(database, "INSERT INTO trace (trial, data) VALUES (?, ?)");
  insert.bind(1, id);
  insert.bindNoCopy(2, data.data(), static_cast<int>(data.size()));
  insert.exec();
}

// Valid while the row is current.
std::string_view bytes_of(const SQLite::Column& column) {
  return {static_cast<const char*>(column.getBlob()), static_cast<std::size_t>(column.getBytes())};
}

template <class T>
std::vector<T> intact(std::optional<std::vector<T>> unpacked) {
  if (!unpacked) throw Damaged{};
  return std::move(*unpacked);
}

// An epoch's fields and their columns, in the same order.
constexpr std::optional<double> trial::Epoch::*epoch_readings[] = {
    &trial::Epoch::train_loss, &trial::Epoch::train_accuracy, &trial::Epoch::test_loss,
    &trial::Epoch::test_accuracy, &trial::Epoch::noise_scale};

void insert_epoch(SQLite::Database& database, std::int64_t id, const trial::Epoch& epoch) {
  SQLite::Statement insert(
      database,
      "INSERT INTO epoch (trial, epoch, train_seconds, train_loss, train_accuracy, test_loss,"
      " test_accuracy, noise_scale) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  int next = 1;
  insert.bind(next++, id);
  insert.bind(next++, epoch.epoch);
  insert.bind(next++, epoch.train_seconds);
  for (const auto reading : epoch_readings) {
    if (epoch.*reading) insert.bind(next, *(epoch.*reading));
    ++next;  // unbound is NULL
  }
  insert.exec();
}

constexpr std::optional<double> trial::Evaluation::*evaluation_readings[] = {
    &trial::Evaluation::test_loss, &trial::Evaluation::test_accuracy,
    &trial::Evaluation::noise_scale};

void insert_evaluation(SQLite::Database& database, std::int64_t id,
                       const trial::Evaluation& evaluation) {
  SQLite::Statement insert(
      database,
      "INSERT INTO evaluation (trial, steps, samples, train_seconds, test_loss,"
      " test_accuracy, noise_scale) VALUES (?, ?, ?, ?, ?, ?, ?)");
  int next = 1;
  insert.bind(next++, id);
  insert.bind(next++, evaluation.steps);
  insert.bind(next++, evaluation.samples);
  insert.bind(next++, evaluation.train_seconds);
  for (const auto reading : evaluation_readings) {
    if (evaluation.*reading) insert.bind(next, *(evaluation.*reading));
    ++next;
  }
  insert.exec();
}

constexpr std::optional<double> trial::GpuUse::*gpu_readings[] = {
    &trial::GpuUse::utilisation_share, &trial::GpuUse::power_watts, &trial::GpuUse::energy_joules,
    &trial::GpuUse::core_clock_mhz};

void insert_gpu(SQLite::Database& database, std::int64_t id, const trial::GpuUse& gpu) {
  SQLite::Statement insert(
      database,
      "INSERT INTO gpu_use (trial, device, name, memory_source, memory_peak_bytes,"
      " memory_free_bytes, utilisation_share, power_watts, energy_joules, core_clock_mhz)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  int next = 1;
  insert.bind(next++, id);
  for (const std::string* text : {&gpu.device, &gpu.name, &gpu.memory_source})
    insert.bind(next++, *text);
  for (const auto& bytes : {gpu.memory_peak, gpu.memory_free}) {
    if (bytes) insert.bind(next, static_cast<std::int64_t>(*bytes));
    ++next;
  }
  for (const auto reading : gpu_readings) {
    if (gpu.*reading) insert.bind(next, *(gpu.*reading));
    ++next;
  }
  insert.exec();
}

void insert_loss(SQLite::Database& database, std::int64_t id, const trial::Loss& loss) {
  SQLite::Statement insert(database, "INSERT INTO loss (trial, step, value) VALUES (?, ?, ?)");
  insert.bind(1, id);
  insert.bind(2, loss.step);
  insert.bind(3, loss.value);
  insert.exec();
}

}  // namespace

void insert_details(SQLite::Database& database, std::int64_t id, const trial::Trial& trial) {
  for (const trial::Epoch& epoch : trial.epochs) insert_epoch(database, id, epoch);
  for (const trial::Evaluation& each : trial.evaluations) insert_evaluation(database, id, each);
  for (const trial::GpuUse& gpu : trial.gpus) insert_gpu(database, id, gpu);
  for (const trial::Loss& loss : trial.losses) insert_loss(database, id, loss);
  insert_steps(database, id, trial.raw);
  if (!trial.trace.empty()) insert_trace(database, id, trial.trace);
}

void delete_details(SQLite::Database& database, std::int64_t id) {
  for (const char* sql :
       {"DELETE FROM epoch WHERE trial = ?", "DELETE FROM evaluation WHERE trial = ?",
        "DELETE FROM gpu_use WHERE trial = ?", "DELETE FROM loss WHERE trial = ?",
        "DELETE FROM steps WHERE trial = ?", "DELETE FROM trace WHERE trial = ?"}) {
    SQLite::Statement remove(database, sql);
    remove.bind(1, id);
    remove.exec();
  }
}

void read_epochs(SQLite::Database& database, std::int64_t study,
                 std::vector<trial::Trial>& trials) {
  SQLite::Statement row(database, R"sql(
      SELECT trial, epoch, train_seconds, train_loss, train_accuracy, test_loss, test_accuracy,
             noise_scale
      FROM epoch WHERE trial IN (SELECT id FROM trial WHERE study = ?) ORDER BY trial, epoch)sql");
  row.bind(1, study);
  while (row.executeStep()) {
    const auto trial = std::ranges::find(trials, row.getColumn(0).getInt64(), &trial::Trial::id);
    if (trial == trials.end()) throw Damaged{};
    trial::Epoch& epoch = trial->epochs.emplace_back();
    epoch.epoch = row.getColumn(1).getInt();
    epoch.train_seconds = row.getColumn(2).getDouble();
    int next = 3;
    for (const auto reading : epoch_readings)
      if (const SQLite::Column column = row.getColumn(next++); !column.isNull())
        epoch.*reading = column.getDouble();
  }
}

void read_evaluations(SQLite::Database& database, std::int64_t study,
                      std::vector<trial::Trial>& trials) {
  SQLite::Statement row(database, R"sql(
      SELECT trial, steps, samples, train_seconds, test_loss, test_accuracy, noise_scale
      FROM evaluation WHERE trial IN (SELECT id FROM trial WHERE study = ?)
      ORDER BY trial, steps)sql");
  row.bind(1, study);
  while (row.executeStep()) {
    const auto trial = std::ranges::find(trials, row.getColumn(0).getInt64(), &trial::Trial::id);
    if (trial == trials.end()) throw Damaged{};
    trial::Evaluation& evaluation = trial->evaluations.emplace_back();
    evaluation.steps = row.getColumn(1).getInt64();
    evaluation.samples = row.getColumn(2).getInt64();
    evaluation.train_seconds = row.getColumn(3).getDouble();
    int next = 4;
    for (const auto reading : evaluation_readings)
      if (const SQLite::Column column = row.getColumn(next++); !column.isNull())
        evaluation.*reading = column.getDouble();
  }
}

void read_gpus(SQLite::Database& database, std::int64_t study, std::vector<trial::Trial>& trials) {
  SQLite::Statement row(database, R"sql(
      SELECT trial, device, name, memory_source, memory_peak_bytes, memory_free_bytes,
             utilisation_share, power_watts, energy_joules, core_clock_mhz
      FROM gpu_use WHERE trial IN (SELECT id FROM trial WHERE study = ?)
      ORDER BY trial, device)sql");
  row.bind(1, study);
  while (row.executeStep()) {
    const auto trial = std::ranges::find(trials, row.getColumn(0).getInt64(), &trial::Trial::id);
    if (trial == trials.end()) throw Damaged{};
    trial::GpuUse& gpu = trial->gpus.emplace_back();
    int next = 1;
    for (std::string* text : {&gpu.device, &gpu.name, &gpu.memory_source})
      *text = row.getColumn(next++).getString();
    for (auto* bytes : {&gpu.memory_peak, &gpu.memory_free})
      if (const SQLite::Column column = row.getColumn(next++); !column.isNull())
        *bytes = static_cast<core::Bytes>(column.getInt64());
    for (const auto reading : gpu_readings)
      if (const SQLite::Column column = row.getColumn(next++); !column.isNull())
        gpu.*reading = column.getDouble();
  }
}

void read_losses(SQLite::Database& database, std::int64_t study,
                 std::vector<trial::Trial>& trials) {
  SQLite::Statement row(database, R"sql(
      SELECT trial, step, value FROM loss
      WHERE trial IN (SELECT id FROM trial WHERE study = ?) ORDER BY trial, step)sql");
  row.bind(1, study);
  while (row.executeStep()) {
    const auto trial = std::ranges::find(trials, row.getColumn(0).getInt64(), &trial::Trial::id);
    if (trial == trials.end()) throw Damaged{};
    trial->losses.push_back({row.getColumn(1).getInt64(), row.getColumn(2).getDouble()});
  }
}

void read_steps_and_trace(SQLite::Database& database, trial::Trial& trial) {
  SQLite::Statement steps(database, "SELECT layout, data FROM steps WHERE trial = ?");
  steps.bind(1, trial.id);
  if (steps.executeStep())
    trial.raw = intact(unpack_steps(bytes_of(steps.getColumn(1)), steps.getColumn(0).getInt()));
  SQLite::Statement trace(database, "SELECT data FROM trace WHERE trial = ?");
  trace.bind(1, trial.id);
  if (trace.executeStep()) trial.trace = intact(unpack_trace(bytes_of(trace.getColumn(0))));
}

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
  if (update.exec() != 1) throw Damaged{};  // the row has disappeared
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
