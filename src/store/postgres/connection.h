#pragma once
#include <memory>
#include <string>

#include "store/database.h"

namespace sweetspot::store::postgres {

// The server rejected a statement.
struct Rejected {
  std::string state;  // SQLSTATE
  std::string why;
};

// Runs `work`; a failure of the server, or Damaged, becomes one sentence that names the database
// and the remedy.
void guarded(const std::string& url, const std::function<void()>& work);

class PostgresConnection : public Connection {
 public:
  explicit PostgresConnection(const std::string& url);  // Lost, Rejected

  Rows run(const std::string& sql, const Values& values) override;
  void run_script(const std::string& sql);  // several statements, without parameters
  Ids held(const Ids& studies) override;
  std::string glance(const Ids& studies) override;

  // Advisory locks of the server, held by a connection: they are released when it ends, however it
  // ends, so that no lock is ever stale.
  bool try_lock(std::int64_t study, Share share);

 private:
  std::shared_ptr<void> connection_;
};

// InputError if the URL cannot be parsed, or contains a secret: every user of the machine can see a
// program's arguments. Neither is shown.
void check_url(const std::string& url);

}  // namespace sweetspot::store::postgres
