#include "store/postgres/postgres.h"

#include <fmt/format.h>

#include "store/postgres/connection.h"
#include "store/postgres/migrations.h"
#include "store/postgres/queue.h"
#include "store/postgres/rows.h"
#include "store/postgres/session.h"
#include "store/postgres/writer.h"

namespace sweetspot::store::postgres {
namespace {

// One query over a persistent connection: a fraction of a millisecond plus the round trip.
class PostgresFollower : public Follower {
 public:
  explicit PostgresFollower(std::string url) : url_(std::move(url)) {}

  bool changed() override {
    std::string now;
    guarded(url_, [&] {
      try {
        now = digest();
      } catch (const Lost&) {  // a server that was restarted since the last call
        connection_.reset();
        now = digest();
      }
    });
    const bool differs = !seen_ || *seen_ != now;
    seen_ = std::move(now);
    return differs;
  }

 private:
  // Changes whenever studies() may.
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

namespace {

// Each call has its own connection: nothing is shared between threads.
class PostgresStore : public Store {
 public:
  explicit PostgresStore(std::string url) : url_(std::move(url)) {}

  std::unique_ptr<Writer> open_study(const trial::StudyKey& study_key,
                                     const trial::Environment& environment, bool fresh) override {
    return std::make_unique<PostgresWriter>(url_, study_key, environment, fresh, Share::alone);
  }

  std::unique_ptr<Queue> join_study(const trial::StudyKey& study_key,
                                    const trial::Environment& environment,
                                    const QueueTerms& terms) override {
    return open_queue(url_, study_key, environment, terms);
  }

  std::vector<trial::Study> studies() const override { return read(std::nullopt, false); }

  std::optional<trial::Study> study(std::int64_t id) const override {
    auto found = read(id, true);
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }

  std::optional<trial::Trial> trial(std::int64_t id) const override {
    std::optional<trial::Trial> found;
    look([&](Connection& connection) { found = select_trial(connection, id); });
    return found;
  }

  std::vector<Attempt> attempts(std::int64_t study) const override {
    std::vector<Attempt> found;
    look([&](Connection& connection) { found = select_attempts(connection, study); });
    return found;
  }

  std::unique_ptr<Follower> follow() const override { return open_follower(url_); }

  bool remove(std::int64_t id) override {
    bool removed = false;
    guarded(url_, [&] {
      Connection connection(url_);
      if (!set_up_if_there(connection, url_)) return;
      Transaction transaction(connection);
      if (!try_lock(connection, id, Share::alone)) fail_locked(connection, url_, id);
      removed = connection.run("DELETE FROM study WHERE id = $1", {id}).changed() > 0;
      transaction.commit();
    });
    return removed;
  }

 private:
  // A consistent snapshot; does nothing if there is no schema yet.
  void look(const std::function<void(Connection&)>& work) const {
    guarded(url_, [&] {
      Connection connection(url_);
      if (!set_up_if_there(connection, url_)) return;
      Transaction transaction(connection, snapshot);
      work(connection);
    });
  }

  std::vector<trial::Study> read(std::optional<std::int64_t> id, bool with_steps) const {
    std::vector<trial::Study> studies;
    look([&](Connection& connection) {
      studies = select_studies(connection, id);
      read_trials(connection, studies);
      if (!with_steps) return;
      for (trial::Study& study : studies)
        for (trial::Trial& trial : study.trials) read_steps_and_trace(connection, trial);
    });
    return studies;
  }

  std::string url_;
};

}  // namespace

std::unique_ptr<Store> open(const std::string& url) {
  check_url(url);
  return std::make_unique<PostgresStore>(url);
}

}  // namespace sweetspot::store::postgres
