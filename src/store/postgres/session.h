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

// Advisory locks of the server, held by a connection: it lets go of them when that ends, however it
// ends, so that no lock is ever stale.
bool try_lock(Connection& connection, std::int64_t study, Share share);
void lock_setup(Connection& connection);  // until the transaction's end
// SQL that is true of the studies, in the column `study.id`, that somebody holds.
std::string is_locked_sql();

// How long a run waits for a server that went away: a restart, a failover, a switch that hangs.
constexpr double patience_seconds = 120;

// A connection that is opened again when it breaks, with its lock. For one thread at a time.
class Session {
 public:
  explicit Session(std::string url);  // MachineError, InputError
  // The lock is let go of before it returns: the server takes its time to see that a connection is
  // gone.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One transaction, done again where the server went away in the middle: `work` may run several
  // times, the one before committed or not. MachineError once the patience is over.
  void transact(const std::function<void(Connection&)>& work);
  // The lock on a study, from within transact() and from then on; false when another has it.
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
