#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/text.h"
#include "store/postgres/postgres.h"
#include "store/rows.h"
#include "store/sqlite/sqlite.h"
#include "store/study_queue.h"
#include "store/study_writer.h"

namespace sweetspot::store {
namespace {

using trial::End;

// Keeps one connection.
class DatabaseFollower : public Follower {
 public:
  explicit DatabaseFollower(std::shared_ptr<const Database> database)
      : database_(std::move(database)) {}

  bool changed() override {
    bool changed = false;
    database_->guarded([&] {
      try {
        changed = look();
      } catch (const Lost&) {  // a server that was restarted since the last call
        connection_.reset();
        changed = look();
      }
    });
    return changed;
  }

 private:
  // The database may appear, disappear and be replaced while we follow it.
  bool look() {
    if (connection_ && !connection_->is_current()) connection_.reset();
    const bool opened = !connection_ && (connection_ = database_->open_reader());
    std::string now = connection_ ? connection_->glance(held_) : "nothing";
    if (!opened && seen_ == now) return false;
    if (connection_) {
      held_ = connection_->held(select_running(*connection_));
      now = connection_->glance(held_);
    }
    seen_ = std::move(now);
    return true;
  }

  std::shared_ptr<const Database> database_;
  std::unique_ptr<Connection> connection_;
  Ids held_;  // a killed process writes nothing: it only releases its lock
  std::optional<std::string> seen_;
};

// Each call opens the database again: nothing is shared between threads, and a reader holds nothing
// that a writer could wait for.
class DatabaseStore : public Store {
 public:
  explicit DatabaseStore(std::shared_ptr<const Database> database)
      : database_(std::move(database)) {}

  std::unique_ptr<Writer> open_study(const trial::StudyKey& study_key,
                                     const trial::Environment& environment, bool fresh) override {
    return std::make_unique<StudyWriter>(*database_, study_key, environment, fresh, Share::alone);
  }

  std::unique_ptr<Queue> join_study(const trial::StudyKey& study_key,
                                    const trial::Environment& environment,
                                    const QueueTerms& terms) override {
    return open_queue(*database_, study_key, environment, terms);
  }

  std::vector<trial::Study> studies() const override { return read(std::nullopt); }

  std::optional<trial::Study> study(std::int64_t id) const override {
    auto found = read(id);
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

  std::unique_ptr<Follower> follow() const override {
    return std::make_unique<DatabaseFollower>(database_);
  }

  bool remove(std::int64_t id) override {
    bool removed = false, is_there = false;
    look([&](Connection&) { is_there = true; });
    if (!is_there) return false;
    const auto session = database_->open_session();
    session->transact([&](Connection& connection) {
      if (!session->lock(connection, id, Share::alone)) fail_locked(*database_, connection, id);
      removed |= !connection.run("DELETE FROM study WHERE id = $1 RETURNING id", {id}).empty();
    });
    return removed;
  }

 private:
  // Does nothing if there are no tables yet.
  void look(const std::function<void(Connection&)>& work) const {
    database_->guarded([&] {
      if (const auto connection = database_->open_reader()) work(*connection);
    });
  }

  // All of them, or one with raw steps and traces.
  std::vector<trial::Study> read(std::optional<std::int64_t> id) const {
    std::vector<trial::Study> studies;
    look([&](Connection& connection) {
      {
        const Transaction one_moment(connection, connection.dialect.snapshot);
        studies = select_studies(connection, id);
        if (id)
          for (trial::Study& study : studies)
            for (trial::Trial& trial : study.trials) read_steps_and_trace(connection, trial);
      }
      judge_running(connection, studies);
    });
    return studies;
  }

  // A study that nobody holds, and that is said to run: its process has ended. It has set the state
  // since we read, or, if the state is still running, it was killed.
  static void judge_running(Connection& connection, std::vector<trial::Study>& studies) {
    Ids running;
    for (const trial::Study& study : studies)
      if (study.end == End::running) running.push_back(study.id);
    if (running.empty()) return;
    const Ids held = connection.held(running), running_now = select_running(connection);
    for (trial::Study& study : studies) {
      if (study.end != End::running || std::ranges::count(held, study.id)) continue;
      study.running.reset();
      study.end = std::ranges::count(running_now, study.id) ? End::stopped
                                                            : select_end(connection, study.id);
    }
  }

  std::shared_ptr<const Database> database_;
};

// "postgresql" of "postgresql://host/db"; a path has no scheme, including "C:" and "a:b".
std::string_view scheme_of(std::string_view url) {
  const std::size_t end = url.find("://");
  return end == std::string_view::npos ? "" : url.substr(0, end);
}

}  // namespace

bool is_postgres(std::string_view url) {
  return scheme_of(url) == "postgresql" || scheme_of(url) == "postgres";
}

std::unique_ptr<Store> open_store(const std::string& url) {
  constexpr std::string_view prefix = "sqlite:";
  const bool prefixed = url.starts_with(prefix);
  if (is_postgres(url)) return std::make_unique<DatabaseStore>(postgres::open(url));
  if (url == "memory:") return std::make_unique<DatabaseStore>(sqlite::open_in_memory());
  if (!prefixed && !scheme_of(url).empty())
    throw core::InputError(
        fmt::format("the database '{}' is of a kind that is not known; pass --db sqlite:PATH or "
                    "postgresql://HOST/DATABASE",
                    core::printable(url)));
  const std::string path = prefixed ? url.substr(prefix.size()) : url;
  if (path.empty())
    throw core::InputError(fmt::format("the database '{}' names no file; pass --db sqlite:PATH",
                                       core::printable(url)));
  return std::make_unique<DatabaseStore>(sqlite::open(path));
}

std::string store_url(const std::optional<std::string>& asked) {
  if (asked) return *asked;
  const char* variable = std::getenv("SWEETSPOT_DB");
  return variable && *variable ? variable : "sqlite:sweetspot.db";
}

}  // namespace sweetspot::store
