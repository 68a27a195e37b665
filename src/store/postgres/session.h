#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "store/postgres/connection.h"

namespace sweetspot::store::postgres {

class Connection;

// A study is written by one process alone, or by any number that share its queue.
enum class Share { alone, with_others };

// Advisory locks of the server, held by a connection: they are released when it ends, however it
// ends, so that no lock is ever stale.
bool try_lock(Connection& connection, std::int64_t study, Share share);
void lock_setup(Connection& connection);  // until the transaction's end
// SQL that is true for the studies, in the column `study.id`, that somebody holds.
std::string is_locked_sql();

// How long a run waits for a server that went away: a restart, a failover, a network outage.
constexpr double patience_seconds = 120;

// A connection that is reopened when it breaks, with its lock. For one thread at a time.
class Session {
 public:
  explicit Session(std::string url);  // MachineError, InputError
  // Releases the lock before it returns: the server takes a while to notice a closed connection.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One transaction, retried if the server went away in the middle: `work` may run several times,
  // whether or not the previous one committed. MachineError once the patience is over.
  void transact(const std::function<void(Connection&)>& work);
  // Takes the lock on a study, from within transact(), and keeps it; false if another process has
  // it.
  bool lock(Connection& connection, std::int64_t study, Share share);

  const std::string& url() const { return url_; }

 private:
  void reconnect();

  std::string url_;
  std::optional<Connection> connection_;
  struct Held {
    std::int64_t study;
    Share share;
  };
  std::optional<Held> held_;
};

}  // namespace sweetspot::store::postgres
