#include "store/postgres/errors.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "store/postgres/connection.h"

namespace sweetspot::store::postgres {
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
