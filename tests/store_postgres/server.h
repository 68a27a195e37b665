#pragma once
#include <string>

#include "temporary_folder.h"

namespace sweetspot::tests {

// A PostgreSQL server in a temporary folder (scripts/postgres), for as long as it lives.
class PostgresServer {
 public:
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  std::string url(const std::string& database = "postgres") const;
  // One that no other test has; its URL.
  std::string new_database();
  void kill();   // SIGKILL, in the midst of whatever it does
  void start();  // again

 private:
  TemporaryFolder folder_;
  int databases_ = 0;
};

// The one of this test program, started at the first call.
PostgresServer& the_server();

// Runs SQL; the first cell of what it answers.
std::string sql(const std::string& url, const std::string& statement);

}  // namespace sweetspot::tests
