#pragma once
#include <functional>
#include <optional>
#include <string>

#include "store/postgres/connection.h"
#include "store/postgres/study_lock.h"

namespace sweetspot::store::postgres {

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
