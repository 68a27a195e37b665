#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <string_view>

#include "store/sqlite/errors.h"
#include "store/sqlite/packed.h"
#include "store/sqlite/rows.h"

namespace sweetspot::store::sqlite {
namespace {

void insert_packed(SQLite::Database& database, const char* sql, std::int64_t id,
                   const std::string& data) {
  SQLite::Statement insert(database, sql);
  insert.bind(1, id);
  insert.bindNoCopy(2, data.data(), static_cast<int>(data.size()));
  insert.exec();
}

template <class T>
void read_packed(SQLite::Database& database, const char* sql, std::int64_t id,
                 std::optional<std::vector<T>> (*unpack)(std::string_view), std::vector<T>& into) {
  SQLite::Statement row(database, sql);
  row.bind(1, id);
  if (!row.executeStep()) return;
  const SQLite::Column data = row.getColumn(0);
  auto found =
      unpack({static_cast<const char*>(data.getBlob()), static_cast<std::size_t>(data.getBytes())});
  if (!found) throw Damaged{};
  into = std::move(*found);
}

// A trial's epochs and their columns, in one order.
constexpr std::optional<double> trial::Epoch::*epoch_readings[] = {
    &trial::Epoch::train_loss, &trial::Epoch::train_accuracy, &trial::Epoch::test_loss,
    &trial::Epoch::test_accuracy};

void insert_epoch(SQLite::Database& database, std::int64_t id, const trial::Epoch& epoch) {
  SQLite::Statement insert(
      database,
      "INSERT INTO epoch (trial, epoch, train_seconds, train_loss, train_accuracy, test_loss,"
      " test_accuracy) VALUES (?, ?, ?, ?, ?, ?, ?)");
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

}  // namespace

void insert_details(SQLite::Database& database, std::int64_t id, const trial::Trial& trial) {
  for (const trial::Epoch& epoch : trial.epochs) insert_epoch(database, id, epoch);
  insert_packed(database, "INSERT INTO steps (trial, data) VALUES (?, ?)", id, pack(trial.raw));
  if (!trial.trace.empty())
    insert_packed(database, "INSERT INTO trace (trial, data) VALUES (?, ?)", id, pack(trial.trace));
}

void read_epochs(SQLite::Database& database, std::int64_t study,
                 std::vector<trial::Trial>& trials) {
  SQLite::Statement row(database, R"sql(
      SELECT trial, epoch, train_seconds, train_loss, train_accuracy, test_loss, test_accuracy
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

void read_steps_and_trace(SQLite::Database& database, trial::Trial& trial) {
  read_packed(database, "SELECT data FROM steps WHERE trial = ?", trial.id, unpack_steps,
              trial.raw);
  read_packed(database, "SELECT data FROM trace WHERE trial = ?", trial.id, unpack_trace,
              trial.trace);
}

}  // namespace sweetspot::store::sqlite
