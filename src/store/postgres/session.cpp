#include "store/postgres/session.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "store/postgres/connection.h"
#include "store/postgres/migrations.h"

namespace sweetspot::store::postgres {
namespace {

// Locks have two numbers: ours, so that other programs in the database do not collide, and the
// study's; 0 is the schema's.
constexpr int our_locks = 0x73777370;  // "swsp"

}  // namespace

bool try_lock(Connection& connection, std::int64_t study, Share share) {
  const char* sql = share == Share::alone ? "SELECT pg_try_advisory_lock($1, $2)"
                                          : "SELECT pg_try_advisory_lock_shared($1, $2)";
  return connection.run(sql, {our_locks, study}).at(0, 0).text() == "t";
}

void lock_setup(Connection& connection) {
  connection.run("SELECT pg_advisory_xact_lock($1, 0)", {our_locks});
}

std::string is_locked_sql() {
  return fmt::format(
      "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2"
      " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
      " AND classid = {} AND objid::bigint = study.id)",
      our_locks);
}

namespace {

using Clock = std::chrono::steady_clock;

// Two transactions that wait for each other's rows: one of them retries.
bool is_deadlock(const Rejected& rejected) {
  return rejected.state == "40P01" || rejected.state == "40001";
}

}  // namespace

Session::Session(std::string url) : url_(std::move(url)) {
  guarded(url_, [&] {
    connection_.emplace(url_);
    set_up(*connection_, url_);
  });
}

Session::~Session() {
  if (!held_ || !connection_) return;
  try {
    connection_->run("SELECT pg_advisory_unlock_all()");
  } catch (...) {  // the server is gone, and the lock with it
  }
}

void Session::transact(const std::function<void(Connection&)>& work) {
  const auto give_up = Clock::now() + std::chrono::duration<double>(patience_seconds);
  constexpr std::chrono::milliseconds between(100);
  guarded(url_, [&] {
    for (;;) try {
        if (!connection_) reconnect();
        Transaction transaction(*connection_);
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

bool Session::lock(Connection& connection, std::int64_t study, Share share) {
  if (held_ && held_->study == study) return true;  // reacquired by reconnect()
  if (!try_lock(connection, study, share)) return false;
  held_ = {study, share};
  return true;
}

// The server may not have noticed yet that the old connection is gone, and may hold its lock for a
// while.
void Session::reconnect() {
  connection_.emplace(url_);
  if (held_ && !try_lock(*connection_, held_->study, held_->share)) {
    connection_.reset();
    throw Lost{"the study is held by another connection"};
  }
}

}  // namespace sweetspot::store::postgres
