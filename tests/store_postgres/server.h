#pragma once
#include <string>

#include "temporary_folder.h"

namespace sweetspot::tests {

// A PostgreSQL server in a temporary folder (scripts/postgres), for its lifetime.
class PostgresServer {
 public:
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  std::string url(const std::string& database = "postgres") const;
  // A new database that no other test uses; returns its URL.
  std::string new_database();
  void kill();   // SIGKILL, in the midst of whatever it does
  void start();  // again

 private:
  TemporaryFolder folder_;
  int databases_ = 0;
};

// The server of this test program, started at the first call.
PostgresServer& the_server();

// Runs SQL; returns the first cell of the result.
std::string sql(const std::string& url, const std::string& statement);

}  // namespace sweetspot::tests
