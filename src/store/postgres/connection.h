#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sweetspot::store::postgres {

// The server cannot be reached, or the connection broke: the request may be retried.
struct Lost {
  std::string why;
};
// The server rejected a statement.
struct Rejected {
  std::string state;  // SQLSTATE
  std::string why;
};

// A parameter of a statement.
class Value {
 public:
  Value(std::nullopt_t) {}
  Value(std::string_view text);  // made valid UTF-8 without NUL: the server accepts nothing else
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(double number);
  template <std::integral T>
  Value(T number) : bytes_(std::to_string(number)) {}
  template <class T>
  Value(const std::optional<T>& known) {
    if (known) *this = Value(*known);
  }
  static Value binary(std::string bytes);

  const std::optional<std::string>& bytes() const { return bytes_; }
  bool is_binary() const { return is_binary_; }

 private:
  std::optional<std::string> bytes_;  // nullopt: NULL
  bool is_binary_ = false;
};
using Values = std::vector<Value>;

// A cell of a result; Damaged if it is not of the requested type.
class Cell {
 public:
  Cell(const char* text, std::size_t size) : text_(text, size), is_null_(text == nullptr) {}
  bool is_null() const { return is_null_; }
  std::string text() const { return std::string(text_); }
  std::int64_t whole() const;
  double real() const;
  std::string binary() const;

 private:
  std::string_view text_;
  bool is_null_;
};

class Result {
 public:
  explicit Result(void* result);
  std::size_t rows() const;
  Cell at(std::size_t row, std::size_t column) const;
  std::int64_t changed() const;  // rows affected by an INSERT, UPDATE or DELETE
  const void* handle() const { return result_.get(); }

 private:
  std::shared_ptr<void> result_;
};

// One connection to the server, for one thread at a time.
class Connection {
 public:
  explicit Connection(const std::string& url);  // Lost, Rejected
  Result run(const std::string& sql, const Values& values = {});
  void run_script(const std::string& sql);  // several statements, without parameters

 private:
  std::shared_ptr<void> connection_;
};

// Everything from here to commit(), or nothing: rolled back by the destructor.
class Transaction {
 public:
  explicit Transaction(Connection& connection, const char* kind = "");
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};
constexpr const char* snapshot = "ISOLATION LEVEL REPEATABLE READ READ ONLY";

// Thrown if the stored data is invalid.
struct Damaged {};

// Runs `work`; a failure of the server, or Damaged, becomes one sentence that names the database
// and the remedy.
void guarded(const std::string& url, const std::function<void()>& work);

// InputError if the URL cannot be parsed, or contains a secret: every user of the machine can see a
// program's arguments. Neither is shown.
void check_url(const std::string& url);

}  // namespace sweetspot::store::postgres
