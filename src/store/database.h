#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What the store asks of a database. SQLite and PostgreSQL run the same SQL, except for the words
// of their Dialect; each has its own connections, locks and sentences.
namespace sweetspot::store {

using Ids = std::vector<std::int64_t>;

// Thrown if the stored data is invalid.
struct Damaged {};
// Thrown if the connection broke: the request may be retried.
struct Lost {
  std::string why;
};

struct Blob {
  std::string bytes;
};

// A parameter of a statement, or a cell of a row.
class Value {
 public:
  Value() = default;  // NULL
  template <std::integral T>
  Value(T number) : held_(static_cast<std::int64_t>(number)) {}
  Value(double number) : held_(number) {}
  Value(std::string text) : held_(std::move(text)) {}
  Value(std::string_view text) : held_(std::string(text)) {}
  Value(Blob blob) : held_(std::move(blob)) {}
  template <class T>
  Value(const std::optional<T>& known) {
    if (known) *this = Value(*known);
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(held_); }
  const auto& held() const { return held_; }
  // Damaged if it is of another type.
  std::int64_t whole() const;
  double real() const;
  const std::string& text() const;
  const std::string& bytes() const;

 private:
  std::variant<std::monostate, std::int64_t, double, std::string, Blob> held_;
};
using Values = std::vector<Value>;
using Rows = std::vector<Values>;

// The words in which the two differ.
struct Dialect {
  std::string_view id, key, bytes;  // types of columns
  std::string_view by_hash;         // of an index over long texts
  std::string_view begin;           // a transaction that writes
  std::string_view snapshot;        // one that reads, and sees one moment
  std::string_view take_turns;      // a statement: one transaction at a time gets beyond it
  std::string_view skip_locked;  // after a SELECT: the rows are ours, those of others are left out
  std::string_view now;          // by the store's clock, in seconds since 1970
  std::string_view up_since;     // since when it has been running, likewise
};

// For one thread at a time.
class Connection {
 public:
  explicit Connection(const Dialect& words) : dialect(words) {}
  virtual ~Connection() = default;
  // One statement. Its parameters are $1, $2, …
  virtual Rows run(const std::string& sql, const Values& values = {}) = 0;
  // Whether it still leads to the database: a file may be removed or replaced.
  virtual bool is_current() const { return true; }
  // Those of the studies that some process holds (Session::lock).
  virtual Ids held(const Ids& studies) = 0;
  // Differs once another process has written something, or let go of one of these studies. In
  // microseconds plus the round trip to a server.
  virtual std::string glance(const Ids& studies) = 0;

  const Dialect& dialect;
};

// Everything from here to commit(), or nothing: rolled back by the destructor.
class Transaction {
 public:
  Transaction(Connection& connection, std::string_view begin);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

// A study is written by one process alone, or by any number that share its queue.
enum class Share { alone, with_others };

// A connection that writes. For one thread at a time.
class Session {
 public:
  virtual ~Session() = default;
  // One transaction; MachineError or InputError in one sentence. `work` may run several times,
  // whether or not the previous one committed.
  virtual void transact(const std::function<void(Connection&)>& work) = 0;
  // Takes the lock on a study, from within transact(), until the session ends, however it ends;
  // false if another process has it.
  virtual bool lock(Connection& connection, std::int64_t study, Share share) = 0;
};

class Database {
 public:
  virtual ~Database() = default;
  // Creates the tables if there are none.
  virtual std::unique_ptr<Session> open_session() const = 0;
  // For reading, within guarded(): null if there are no tables yet.
  virtual std::unique_ptr<Connection> open_reader() const = 0;
  // Runs `work`; a failure of the database, or Damaged, becomes one sentence that names it and the
  // way out.
  virtual void guarded(const std::function<void()>& work) const = 0;

  virtual std::string shown() const = 0;         // "sweetspot.db", printable
  virtual std::string_view another() const = 0;  // as in "pass --db other.db"
};

}  // namespace sweetspot::store
