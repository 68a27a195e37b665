#include "store/postgres/postgres.h"

#include "store/postgres/errors.h"
#include "store/postgres/follower.h"
#include "store/postgres/queue.h"
#include "store/postgres/rows.h"
#include "store/postgres/schema.h"
#include "store/postgres/writer.h"

namespace sweetspot::store::postgres {
namespace {

// Each call has a connection of its own: nothing is shared between threads.
class PostgresStore : public Store {
 public:
  explicit PostgresStore(std::string url) : url_(std::move(url)) {}

  std::unique_ptr<Writer> open_study(const trial::Question& question,
                                     const trial::Environment& environment, bool fresh) override {
    return std::make_unique<PostgresWriter>(url_, question, environment, fresh, Share::alone);
  }

  std::unique_ptr<Queue> join_study(const trial::Question& question,
                                    const trial::Environment& environment,
                                    const QueueTerms& terms) override {
    return open_queue(url_, question, environment, terms);
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
  // As of one moment; does nothing where there is nothing yet.
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
