#include "store/postgres/study_lock.h"

#include <fmt/format.h>

#include "store/postgres/connection.h"

namespace sweetspot::store::postgres {
namespace {

// Locks are of two numbers: ours, so that other programs in the database do not meet us, and the
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

}  // namespace sweetspot::store::postgres
