#include "store/postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <charconv>
#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::store::postgres {
namespace {

PGresult* raw(const std::shared_ptr<void>& result) { return static_cast<PGresult*>(result.get()); }
PGconn* link(const std::shared_ptr<void>& connection) {
  return static_cast<PGconn*>(connection.get());
}

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

template <class T>
T parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw Damaged{};
  return value;
}

}  // namespace

Value::Value(std::string_view text) {
  std::string& valid = bytes_.emplace();
  while (!text.empty()) {
    // Line ends and tabs are not printable, but harmless here.
    const bool plain = static_cast<unsigned char>(text.front()) < 0x80 && text.front() != '\0';
    const std::size_t size = plain ? 1 : core::printable_bytes(text);
    valid += size > 0 ? text.substr(0, size) : "\uFFFD";
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
}

Value::Value(double number) : bytes_(fmt::format("{}", number)) {}

Value Value::binary(std::string bytes) {
  Value value(std::nullopt);
  value.bytes_ = std::move(bytes);
  value.is_binary_ = true;
  return value;
}

std::int64_t Cell::whole() const { return parsed<std::int64_t>(text_); }

double Cell::real() const {
  // from_chars reads "inf" and "nan" as the server writes them: Infinity, NaN.
  return parsed<double>(text_);
}

std::string Cell::binary() const {
  std::size_t size = 0;
  unsigned char* bytes =
      PQunescapeBytea(reinterpret_cast<const unsigned char*>(text_.data()), &size);
  if (!bytes) throw std::bad_alloc();
  std::string copy(reinterpret_cast<const char*>(bytes), size);
  PQfreemem(bytes);
  return copy;
}

Result::Result(void* result)
    : result_(result, [](void* r) { PQclear(static_cast<PGresult*>(r)); }) {}
std::size_t Result::rows() const { return static_cast<std::size_t>(PQntuples(raw(result_))); }
std::int64_t Result::changed() const { return std::atoll(PQcmdTuples(raw(result_))); }

Cell Result::at(std::size_t row, std::size_t column) const {
  const int r = static_cast<int>(row), c = static_cast<int>(column);
  if (PQgetisnull(raw(result_), r, c)) return {nullptr, 0};
  return {PQgetvalue(raw(result_), r, c),
          static_cast<std::size_t>(PQgetlength(raw(result_), r, c))};
}

Connection::Connection(const std::string& url) {
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

Result Connection::run(const std::string& sql, const Values& values) {
  std::vector<const char*> bytes;
  std::vector<int> sizes, formats;
  for (const Value& value : values) {
    bytes.push_back(value.bytes() ? value.bytes()->data() : nullptr);
    sizes.push_back(value.bytes() ? static_cast<int>(value.bytes()->size()) : 0);
    formats.push_back(value.is_binary() ? 1 : 0);
  }
  PGconn* connection = link(connection_);
  Result result(PQexecParams(connection, sql.c_str(), static_cast<int>(values.size()), nullptr,
                             bytes.data(), sizes.data(), formats.data(), 0));
  check(connection, static_cast<const PGresult*>(result.handle()));
  return result;
}

void Connection::run_script(const std::string& sql) {
  PGconn* connection = link(connection_);
  const Result result(PQexec(connection, sql.c_str()));
  check(connection, static_cast<const PGresult*>(result.handle()));
}

Transaction::Transaction(Connection& connection, const char* kind) : connection_(connection) {
  connection_.run(fmt::format("BEGIN {}", kind));
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    connection_.run("ROLLBACK");
  } catch (const Lost&) {  // then it is already rolled back
  } catch (const Rejected&) {
  }
}

void Transaction::commit() {
  open_ = false;
  connection_.run("COMMIT");
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
