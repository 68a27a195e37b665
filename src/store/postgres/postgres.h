#pragma once
#include <memory>
#include <string>

#include "store/store.h"

namespace sweetspot::store::postgres {

std::unique_ptr<Follower> open_follower(const std::string& url);

// Trial history in a PostgreSQL database, for processes on several machines. Connects only when
// needed; only open_study() and join_study() create its schema. InputError for a URL that contains
// a password: libpq finds passwords in ~/.pgpass, a service file or PGPASSWORD.
std::unique_ptr<Store> open(const std::string& url);

}  // namespace sweetspot::store::postgres
