#include "store_postgres/server.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace sweetspot::tests {
namespace {

void run_script(const std::string& action, const std::filesystem::path& folder) {
  const std::string command = std::string(SWEETSPOT_SOURCE_DIR) + "/scripts/postgres " + action +
                              " " + folder.string() + " >/dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("scripts/postgres " + action);
}

// Ends with the tests, before statics are destroyed.
std::unique_ptr<PostgresServer> the_one;
class EndServer : public testing::Environment {
  void TearDown() override { the_one.reset(); }
};
const testing::Environment* const at_the_end = testing::AddGlobalTestEnvironment(new EndServer);

}  // namespace

PostgresServer::PostgresServer() { start(); }

PostgresServer::~PostgresServer() {
  try {
    run_script("stop", folder_.path());
  } catch (const std::runtime_error&) {  // it was killed
  }
}

std::string PostgresServer::url(const std::string& database) const {
  return "postgresql://sweetspot@/" + database + "?host=" + folder_.path().string();
}

std::string PostgresServer::new_database() {
  const std::string name = "test" + std::to_string(++databases_);
  sql(url(), "CREATE DATABASE " + name);
  return url(name);
}

void PostgresServer::kill() {
  pid_t pid = 0;
  std::ifstream(folder_ / "data/postmaster.pid") >> pid;
  if (pid <= 0 || ::kill(pid, SIGKILL) != 0) throw std::runtime_error("no server to kill");
}

void PostgresServer::start() { run_script("start", folder_.path()); }

PostgresServer& the_server() {
  if (!the_one) the_one = std::make_unique<PostgresServer>();
  return *the_one;
}

std::string sql(const std::string& url, const std::string& statement) {
  PGconn* connection = PQconnectdb(url.c_str());
  PGresult* result = PQexec(connection, statement.c_str());
  const ExecStatusType status = PQresultStatus(result);
  std::string text = status == PGRES_TUPLES_OK && PQntuples(result) > 0 ? PQgetvalue(result, 0, 0)
                     : status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
                         ? ""
                         : std::string("failed: ") + PQerrorMessage(connection);
  PQclear(result);
  PQfinish(connection);
  if (text.starts_with("failed: ")) throw std::runtime_error(text);
  return text;
}

}  // namespace sweetspot::tests
