#pragma once
#include <memory>
#include <string>

#include "store/database.h"

namespace sweetspot::store::postgres {

// A PostgreSQL database, for processes on several machines. InputError for a URL that contains a
// password: libpq finds passwords in ~/.pgpass, a service file or PGPASSWORD.
std::unique_ptr<Database> open(const std::string& url);

}  // namespace sweetspot::store::postgres
