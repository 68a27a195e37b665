#include "store/postgres/follower.h"

#include <fmt/format.h>

#include "store/postgres/connection.h"
#include "store/postgres/errors.h"
#include "store/postgres/schema.h"
#include "store/postgres/study_lock.h"

namespace sweetspot::store::postgres {
namespace {

// One question over a kept connection: a fraction of a millisecond beside the way to the server.
class PostgresFollower : public Follower {
 public:
  explicit PostgresFollower(std::string url) : url_(std::move(url)) {}

  bool changed() override {
    std::string now;
    guarded(url_, [&] {
      try {
        now = digest();
      } catch (const Lost&) {  // a server that was started again since the last look
        connection_.reset();
        now = digest();
      }
    });
    const bool differs = !seen_ || *seen_ != now;
    seen_ = std::move(now);
    return differs;
  }

 private:
  // Differs whenever studies() may.
  std::string digest() {
    if (!connection_) {
      connection_.emplace(url_);
      is_there_ = false;
    }
    if (!is_there_ && !(is_there_ = set_up_if_there(*connection_, url_))) return "nothing";
    static const std::string sql = fmt::format(
        "SELECT concat_ws(' ', count(*), max(id), sum(changes),"
        " sum(id) FILTER (WHERE state = 'running' AND {})) FROM study",
        is_locked_sql());
    return connection_->run(sql).at(0, 0).text();
  }

  std::string url_;
  std::optional<Connection> connection_;
  bool is_there_ = false;
  std::optional<std::string> seen_;
};

}  // namespace

std::unique_ptr<Follower> open_follower(const std::string& url) {
  return std::make_unique<PostgresFollower>(url);
}

}  // namespace sweetspot::store::postgres
