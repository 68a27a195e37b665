#pragma once
#include <cstdint>
#include <string>

#include "store/database.h"

namespace sweetspot::store {

// The tables. There are no migrations: a change is a new number, and databases with another one are
// refused. Numbers up to 14 were used before the first release.
constexpr std::int64_t schema_version = 15;
std::string schema(const Dialect& dialect);

// InputError if a database has tables of another version. `aside`: how to get it out of the way, as
// in "move it away"; `another`: "--db other.db".
void check_version(std::int64_t version, std::string_view shown, std::string_view aside,
                   std::string_view another);

}  // namespace sweetspot::store
