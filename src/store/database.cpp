#include "store/database.h"

namespace sweetspot::store {
namespace {

template <class T>
const T& intact(const T* value) {
  if (!value) throw Damaged{};
  return *value;
}

}  // namespace

std::int64_t Value::whole() const { return intact(std::get_if<std::int64_t>(&held_)); }

double Value::real() const {
  if (const auto* number = std::get_if<std::int64_t>(&held_)) return static_cast<double>(*number);
  return intact(std::get_if<double>(&held_));
}

const std::string& Value::text() const { return intact(std::get_if<std::string>(&held_)); }

const std::string& Value::bytes() const { return intact(std::get_if<Blob>(&held_)).bytes; }

Transaction::Transaction(Connection& connection, std::string_view begin) : connection_(connection) {
  connection_.run(std::string(begin));
}

Transaction::~Transaction() {
  if (open_) try {
      connection_.run("ROLLBACK");
    } catch (...) {  // it is rolled back already, by the failure or the end of the connection
    }
}

void Transaction::commit() {
  connection_.run("COMMIT");
  open_ = false;
}

}  // namespace sweetspot::store
