#include "store/postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <charconv>
#include <memory>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::store::postgres {
namespace {

// Locks have two numbers: ours, so that other programs in the database do not collide, and the
// study's; 0 is the schema's.
constexpr const char* our_locks =
    "FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND classid = 1937208176 AND objid <> 0";  // "swsp"

const Dialect postgres_dialect{
    .id = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    .key = "BIGINT PRIMARY KEY",
    .bytes = "BYTEA",
    .by_hash = "USING hash",
    .begin = "BEGIN",
    .snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    .take_turns = "SELECT pg_advisory_xact_lock(1937208176, 0)",
    .skip_locked = "FOR UPDATE SKIP LOCKED",
    .now = "extract(epoch FROM clock_timestamp())::float8",
    .up_since = "extract(epoch FROM pg_postmaster_start_time())::float8"};

PGconn* raw(const std::shared_ptr<void>& connection) {
  return static_cast<PGconn*>(connection.get());
}

using Result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

// "FATAL:  the database system is starting up\n" → one line without the severity.
std::string one_line(const char* message) {
  std::string text(message ? message : "");
  text = text.substr(0, text.find('\n'));
  for (const std::string_view severity : {"FATAL:  ", "ERROR:  "})
    if (const std::size_t at = text.find(severity); at != std::string::npos)
      text.erase(at, severity.size());
  return core::printable(text);
}

// Transient errors, resolved by waiting or reconnecting: connection failures (08), a server that
// shuts down, starts or crashed (57P), has no connection left (53300) or became a standby (25006).
bool passes(const std::string& state) {
  return state.empty() || state.starts_with("08") || state.starts_with("57P") || state == "53300" ||
         state == "25006";
}

std::string state_of(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state ? state : "";
}

void check(PGconn* connection, const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
  const std::string why = one_line(PQerrorMessage(connection)), state = state_of(result);
  if (PQstatus(connection) != CONNECTION_OK || passes(state)) throw Lost{why};
  throw Rejected{state, why};
}

// libpq gives no SQLSTATE for a refused connection: permanent errors are recognised by their text,
// which the server translates; the C locale is requested below.
bool is_hopeless(std::string_view why) {
  for (const char* words : {"does not exist", "authentication failed", "no password supplied",
                            "no pg_hba.conf entry", "definition of service", "invalid port"})
    if (why.find(words) != std::string_view::npos) return true;
  return false;
}

// The server accepts only valid UTF-8 without NUL.
std::string accepted(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    // Line ends and tabs are not printable, but harmless here.
    const bool plain = static_cast<unsigned char>(text.front()) < 0x80 && text.front() != '\0';
    const std::size_t size = plain ? 1 : core::printable_bytes(text);
    valid += size > 0 ? text.substr(0, size) : "\uFFFD";
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return valid;
}

std::string bytes_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.held())) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value.held())) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value.held())) return accepted(*text);
  return value.is_null() ? "" : value.bytes();
}

// from_chars reads "inf" and "nan" as the server writes them: Infinity, NaN.
template <class T>
T parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw Damaged{};
  return value;
}

Blob unescaped(const char* text) {
  std::size_t size = 0;
  unsigned char* bytes = PQunescapeBytea(reinterpret_cast<const unsigned char*>(text), &size);
  if (!bytes) throw std::bad_alloc();
  Blob blob{std::string(reinterpret_cast<const char*>(bytes), size)};
  PQfreemem(bytes);
  return blob;
}

Value value_at(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column)) return {};
  const char* text = PQgetvalue(result, row, column);
  switch (PQftype(result, column)) {  // pg_type.dat
    case 20:                          // int8
      return parsed<std::int64_t>(text);
    case 701:  // float8
      return parsed<double>(text);
    case 17:  // bytea
      return unescaped(text);
    default:
      return std::string_view(text);
  }
}

}  // namespace

PostgresConnection::PostgresConnection(const std::string& url) : Connection(postgres_dialect) {
  // Later entries win: the URL overrides our defaults. A server that vanished silently is noticed
  // within half a minute.
  const char* names[] = {"connect_timeout",  "keepalives_idle",           "keepalives_interval",
                         "keepalives_count", "tcp_user_timeout",          "dbname",
                         "client_encoding",  "fallback_application_name", nullptr};
  const char* values[] = {"10", "10", "5", "4", "30000", url.c_str(), "UTF8", "sweetspot", nullptr};
  PGconn* opened = PQconnectdbParams(names, values, 1);
  if (!opened) throw std::bad_alloc();
  connection_ = std::shared_ptr<void>(opened, [](void* c) { PQfinish(static_cast<PGconn*>(c)); });
  if (PQstatus(opened) != CONNECTION_OK) {
    const std::string why = one_line(PQerrorMessage(opened));
    if (is_hopeless(why)) throw Rejected{"", why};
    throw Lost{why};
  }
  PQsetNoticeProcessor(
      opened, [](void*, const char*) {}, nullptr);
  // A commit is on the server's disk when it returns, whatever the database's default.
  run_script(
      "SET search_path = sweetspot; SET synchronous_commit = on; SET extra_float_digits = 1;"
      "SET bytea_output = hex; SET lock_timeout = '20s';"
      "SET default_transaction_isolation = 'read committed'");
}

Rows PostgresConnection::run(const std::string& sql, const Values& values) {
  std::vector<std::string> texts;
  std::vector<const char*> bytes;
  std::vector<int> sizes, formats;
  for (const Value& value : values) texts.push_back(bytes_of(value));
  for (std::size_t i = 0; i < values.size(); ++i) {
    bytes.push_back(values[i].is_null() ? nullptr : texts[i].data());
    sizes.push_back(static_cast<int>(texts[i].size()));
    formats.push_back(std::holds_alternative<Blob>(values[i].held()) ? 1 : 0);
  }
  PGconn* connection = raw(connection_);
  const Result result(PQexecParams(connection, sql.c_str(), static_cast<int>(values.size()),
                                   nullptr, bytes.data(), sizes.data(), formats.data(), 0),
                      PQclear);
  check(connection, result.get());
  Rows rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (int column = 0; column < PQnfields(result.get()); ++column)
      rows[row].push_back(value_at(result.get(), static_cast<int>(row), column));
  return rows;
}

void PostgresConnection::run_script(const std::string& sql) {
  PGconn* connection = raw(connection_);
  const Result result(PQexec(connection, sql.c_str()), PQclear);
  check(connection, result.get());
}

Ids PostgresConnection::held(const Ids&) {
  Ids held;
  for (const Values& row : run(fmt::format("SELECT objid::bigint {}", our_locks), {}))
    held.push_back(row[0].whole());
  return held;
}

// Whatever changes a study gives its row a new xmin.
std::string PostgresConnection::glance(const Ids&) {
  return run(fmt::format("SELECT concat_ws(' ', count(*), sum(xmin::text::bigint),"
                         " (SELECT sum(DISTINCT objid::bigint) {})) FROM study",
                         our_locks),
             {})[0][0]
      .text();
}

bool PostgresConnection::try_lock(std::int64_t study, Share share) {
  return run(fmt::format("SELECT pg_try_advisory_lock{}(1937208176, $1)::int::bigint",
                         share == Share::alone ? "" : "_shared"),
             {study})[0][0]
             .whole() == 1;
}

namespace {

[[noreturn]] void explain(const Rejected& error, const std::string& shown) {
  if (error.state == "42501")
    throw core::InputError(
        fmt::format("{} allows this user too little ({}); let its owner GRANT CREATE ON DATABASE, "
                    "or USAGE and all rights in the schema sweetspot, or pass another --db",
                    shown, error.why));
  if (error.state == "55P03")
    throw core::MachineError(fmt::format(
        "{} is kept locked by another program; wait for it, or pass another --db", shown));
  if (error.state.starts_with("53"))
    throw core::MachineError(
        fmt::format("the server of {} has no room left ({}); the finished trials are kept, free "
                    "some there and run it again, or pass another --db",
                    shown, error.why));
  if (error.state.empty())
    throw core::InputError(fmt::format(
        "{} cannot be opened ({}); see that the database and the user exist, and that the password "
        "is in ~/.pgpass, a service file or PGPASSWORD",
        shown, error.why));
  throw core::MachineError(
      fmt::format("{} failed ({}, SQLSTATE {}); pass another --db", shown, error.why, error.state));
}

}  // namespace

void guarded(const std::string& url, const std::function<void()>& work) {
  const std::string shown = core::printable(url);
  try {
    work();
  } catch (const Lost& lost) {
    throw core::MachineError(
        fmt::format("{} cannot be reached ({}); the finished trials are kept, see that its server "
                    "runs, or pass another --db",
                    shown, lost.why));
  } catch (const Rejected& rejected) {
    explain(rejected, shown);
  } catch (const Damaged&) {
    throw core::InputError(fmt::format(
        "what is in {} makes no sense; let its owner look at the schema sweetspot, or pass another "
        "--db",
        shown));
  }
}

void check_url(const std::string& url) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfoParse(url.c_str(), &message), PQconninfoFree);
  PQfreemem(message);
  if (!options)
    throw core::InputError(
        "the database's URL cannot be read; write --db postgresql://USER@HOST:PORT/DATABASE, or "
        "postgresql:///?service=NAME with a service file");
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option)
    if (std::string_view(option->keyword).ends_with("password") && option->val)
      throw core::InputError(
          "the database's URL has a password in it, which others could read; put it into "
          "~/.pgpass, "
          "a service file or PGPASSWORD, and leave it out of the URL");
}

}  // namespace sweetspot::store::postgres
