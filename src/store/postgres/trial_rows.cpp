#include <fmt/format.h>

#include <map>

#include "store/postgres/connection.h"
#include "store/postgres/rows.h"
#include "store/step_blob.h"
#include "store/trial_fields.h"

namespace sweetspot::store::postgres {
namespace {

template <class T>
std::vector<T> intact(std::optional<std::vector<T>> unpacked) {
  if (!unpacked) throw Damaged{};
  return std::move(*unpacked);
}

std::optional<double> real_or_nothing(const Cell& cell) {
  if (cell.is_null()) return std::nullopt;
  return cell.real();
}

std::optional<core::Bytes> bytes_or_nothing(const Cell& cell) {
  if (cell.is_null()) return std::nullopt;
  return static_cast<core::Bytes>(cell.whole());
}

}  // namespace

void insert_details(Connection& connection, std::int64_t id, const trial::Trial& trial) {
  for (const trial::Epoch& e : trial.epochs)
    connection.run(
        "INSERT INTO epoch (trial, epoch, train_seconds, train_loss, train_accuracy, test_loss,"
        " test_accuracy, noise_scale) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        {id, e.epoch, e.train_seconds, e.train_loss, e.train_accuracy, e.test_loss, e.test_accuracy,
         e.noise_scale});
  for (const trial::Evaluation& e : trial.evaluations)
    connection.run(
        "INSERT INTO evaluation (trial, steps, samples, train_seconds, test_loss, test_accuracy,"
        " noise_scale) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        {id, e.steps, e.samples, e.train_seconds, e.test_loss, e.test_accuracy, e.noise_scale});
  for (const trial::GpuUse& gpu : trial.gpus)
    connection.run(
        "INSERT INTO gpu_use (trial, device, name, memory_source, memory_peak_bytes,"
        " memory_free_bytes, utilisation_share, power_watts, energy_joules, core_clock_mhz)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        {id, gpu.device, gpu.name, gpu.memory_source, gpu.memory_peak, gpu.memory_free,
         gpu.utilisation_share, gpu.power_watts, gpu.energy_joules, gpu.core_clock_mhz});
  for (const trial::Loss& loss : trial.losses)
    connection.run("INSERT INTO loss (trial, step, value) VALUES ($1, $2, $3)",
                   {id, loss.step, loss.value});
  connection.run("INSERT INTO steps (trial, layout, data) VALUES ($1, $2, $3)",
                 {id, step_layout, Value::binary(pack(trial.raw))});
  if (!trial.trace.empty())
    connection.run("INSERT INTO trace (trial, data) VALUES ($1, $2)",
                   {id, Value::binary(pack(trial.trace))});
}

void delete_details(Connection& connection, std::int64_t id) {
  for (const char* sql :
       {"DELETE FROM epoch WHERE trial = $1", "DELETE FROM evaluation WHERE trial = $1",
        "DELETE FROM gpu_use WHERE trial = $1", "DELETE FROM loss WHERE trial = $1",
        "DELETE FROM steps WHERE trial = $1", "DELETE FROM trace WHERE trial = $1"})
    connection.run(sql, {id});
}

void read_details(Connection& connection, const std::vector<trial::Trial*>& trials) {
  std::map<std::int64_t, trial::Trial*> by_id;
  std::vector<std::int64_t> ids;
  for (trial::Trial* trial : trials) by_id[trial->id] = trial, ids.push_back(trial->id);
  const std::string array = array_of(ids);
  const auto each_row = [&](const char* sql, const auto& take) {
    const Result rows = connection.run(sql, {array});
    for (std::size_t row = 0; row < rows.rows(); ++row)
      take(*by_id.at(rows.at(row, 0).whole()),
           [&](std::size_t column) { return rows.at(row, column); });
  };
  each_row(
      "SELECT trial, epoch, train_seconds, train_loss, train_accuracy, test_loss, test_accuracy,"
      " noise_scale FROM epoch WHERE trial = ANY($1) ORDER BY trial, epoch",
      [](trial::Trial& trial, const auto& at) {
        trial.epochs.push_back({static_cast<int>(at(1).whole()), at(2).real(),
                                real_or_nothing(at(3)), real_or_nothing(at(4)),
                                real_or_nothing(at(5)), real_or_nothing(at(6)),
                                real_or_nothing(at(7))});
      });
  each_row(
      "SELECT trial, steps, samples, train_seconds, test_loss, test_accuracy, noise_scale"
      " FROM evaluation WHERE trial = ANY($1) ORDER BY trial, steps",
      [](trial::Trial& trial, const auto& at) {
        trial::Evaluation& evaluation = trial.evaluations.emplace_back();
        evaluation.steps = at(1).whole(), evaluation.samples = at(2).whole();
        evaluation.train_seconds = at(3).real();
        evaluation.test_loss = real_or_nothing(at(4));
        evaluation.test_accuracy = real_or_nothing(at(5));
        evaluation.noise_scale = real_or_nothing(at(6));
      });
  each_row(
      "SELECT trial, device, name, memory_peak_bytes, memory_free_bytes, memory_source,"
      " utilisation_share, power_watts, energy_joules, core_clock_mhz"
      " FROM gpu_use WHERE trial = ANY($1) ORDER BY trial, device",
      [](trial::Trial& trial, const auto& at) {
        trial.gpus.push_back({at(1).text(), at(2).text(), bytes_or_nothing(at(3)),
                              bytes_or_nothing(at(4)), at(5).text(), real_or_nothing(at(6)),
                              real_or_nothing(at(7)), real_or_nothing(at(8)),
                              real_or_nothing(at(9))});
      });
  each_row("SELECT trial, step, value FROM loss WHERE trial = ANY($1) ORDER BY trial, step",
           [](trial::Trial& trial, const auto& at) {
             trial.losses.push_back({at(1).whole(), at(2).real()});
           });
}

void read_steps_and_trace(Connection& connection, trial::Trial& trial) {
  const Result steps =
      connection.run("SELECT layout, data FROM steps WHERE trial = $1", {trial.id});
  if (steps.rows() > 0)
    trial.raw =
        intact(unpack_steps(steps.at(0, 1).binary(), static_cast<int>(steps.at(0, 0).whole())));
  const Result trace = connection.run("SELECT data FROM trace WHERE trial = $1", {trial.id});
  if (trace.rows() > 0) trial.trace = intact(unpack_trace(trace.at(0, 0).binary()));
}

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

// nullopt: it has arrived before.
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
    throw Damaged{};  // the row has disappeared
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
