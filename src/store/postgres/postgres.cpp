#include "store/postgres/postgres.h"

#include <chrono>
#include <thread>

#include "core/text.h"
#include "store/postgres/connection.h"
#include "store/schema.h"

namespace sweetspot::store::postgres {
namespace {

// Everything is in its own schema, "sweetspot", so that the database may hold other things. False:
// there is none. InputError if its version is not ours. Read from the catalog's rows: a failed name
// lookup may be cached.
bool is_set_up(PostgresConnection& connection, const std::string& url) {
  if (connection
          .run("SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
               " WHERE nspname = 'sweetspot' AND relname = 'version'",
               {})
          .empty())
    return false;
  check_version(
      connection.run("SELECT max(version)::bigint FROM sweetspot.version", {})[0][0].whole(),
      core::printable(url), "rename its schema sweetspot", "another --db");
  return true;
}

// All of it or nothing, one process at a time.
void set_up(PostgresConnection& connection, const std::string& url) {
  if (is_set_up(connection, url)) return;
  Transaction transaction(connection, connection.dialect.begin);
  connection.run(std::string(connection.dialect.take_turns), {});
  if (is_set_up(connection, url)) return;  // another was faster
  connection.run_script("CREATE SCHEMA IF NOT EXISTS sweetspot;" + schema(connection.dialect) +
                        "CREATE TABLE version (version INTEGER NOT NULL);"
                        "INSERT INTO version VALUES (" +
                        std::to_string(schema_version) + ")");
  transaction.commit();
}

// How long a run waits for a server that went away: a restart, a failover, a network outage.
constexpr std::chrono::seconds patience(120);

// Two transactions that wait for each other's rows: one of them retries.
bool is_deadlock(const Rejected& rejected) {
  return rejected.state == "40P01" || rejected.state == "40001";
}

// A connection that is reopened when it breaks, with its lock.
class PostgresSession : public Session {
 public:
  explicit PostgresSession(const std::string& url) : url_(url) {
    guarded(url_, [&] {
      connection_ = std::make_unique<PostgresConnection>(url_);
      set_up(*connection_, url_);
    });
  }

  // Releases the lock before it returns: the server takes a while to notice a closed connection.
  ~PostgresSession() override {
    if (held_ && connection_) try {
        connection_->run("SELECT pg_advisory_unlock_all()", {});
      } catch (...) {  // the server is gone, and the lock with it
      }
  }

  // MachineError once the patience is over.
  void transact(const std::function<void(Connection&)>& work) override {
    using Clock = std::chrono::steady_clock;
    const auto give_up = Clock::now() + patience;
    constexpr std::chrono::milliseconds between(100);
    guarded(url_, [&] {
      for (;;) try {
          if (!connection_) reconnect();
          Transaction transaction(*connection_, connection_->dialect.begin);
          work(*connection_);
          transaction.commit();
          return;
        } catch (const Lost&) {
          connection_.reset();
          if (Clock::now() >= give_up) throw;
          std::this_thread::sleep_for(between);
        } catch (const Rejected& rejected) {
          if (!is_deadlock(rejected) || Clock::now() >= give_up) throw;
        }
    });
  }

  bool lock(Connection&, std::int64_t study, Share share) override {
    if (held_ && held_->study == study) return true;  // reacquired by reconnect()
    if (!connection_->try_lock(study, share)) return false;
    held_ = {study, share};
    return true;
  }

 private:
  // The server may not have noticed yet that the old connection is gone, and may hold its lock for
  // a while.
  void reconnect() {
    connection_ = std::make_unique<PostgresConnection>(url_);
    if (held_ && !connection_->try_lock(held_->study, held_->share)) {
      connection_.reset();
      throw Lost{"the study is held by another connection"};
    }
  }

  struct Held {
    std::int64_t study;
    Share share;
  };

  std::string url_;
  std::unique_ptr<PostgresConnection> connection_;
  std::optional<Held> held_;
};

// Each call has its own connection.
class PostgresDatabase : public Database {
 public:
  explicit PostgresDatabase(std::string url) : url_(std::move(url)) {}

  std::unique_ptr<Session> open_session() const override {
    return std::make_unique<PostgresSession>(url_);
  }

  std::unique_ptr<Connection> open_reader() const override {
    auto connection = std::make_unique<PostgresConnection>(url_);
    if (!is_set_up(*connection, url_)) return nullptr;
    return connection;
  }

  void guarded(const std::function<void()>& work) const override { postgres::guarded(url_, work); }
  std::string shown() const override { return core::printable(url_); }
  std::string_view another() const override { return "another --db"; }

 private:
  std::string url_;
};

}  // namespace

std::unique_ptr<Database> open(const std::string& url) {
  check_url(url);
  return std::make_unique<PostgresDatabase>(url);
}

}  // namespace sweetspot::store::postgres
