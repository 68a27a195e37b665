#pragma once
#include <string>

namespace sweetspot::store::postgres {

class Connection;

// Everything is in a schema of its own, "sweetspot", so that the database may hold other things.
// Its version is kept in it; a change is a new step of migrations.cpp, as in store/sqlite/migrations.h.
int schema_version();

// Makes the schema or takes it to this program's version, all steps or none, one process at a time.
// InputError where it is newer.
void set_up(Connection& connection, const std::string& url);
// The same, but it makes none: false where there is nothing yet.
bool set_up_if_there(Connection& connection, const std::string& url);

}  // namespace sweetspot::store::postgres
