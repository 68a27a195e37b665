#pragma once
#include <memory>

#include "store/database.h"
#include "store/sqlite/place.h"

namespace SQLite {
class Database;
}

namespace sweetspot::store::sqlite {

class SqliteConnection : public Connection {
 public:
  SqliteConnection(Place place, std::unique_ptr<SQLite::Database> database);
  ~SqliteConnection() override;

  Rows run(const std::string& sql, const Values& values) override;
  bool is_current() const override;
  Ids held(const Ids& studies) override;
  std::string glance(const Ids& studies) override;

 private:
  Place place_;
  Identity identity_;
  std::unique_ptr<SQLite::Database> database_;
};

// Runs `work`; a failure of SQLite, or Damaged, becomes one sentence that names the file and the
// remedy.
void guarded(const Place& place, const std::function<void()>& work);

// For writing: created if missing, durable at each commit.
std::unique_ptr<Connection> open_for_writing(const Place& place);

// For reading: creates no file; null if there is none, or it is empty.
std::unique_ptr<Connection> open_for_reading(const Place& place);

}  // namespace sweetspot::store::sqlite
