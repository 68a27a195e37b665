#pragma once
#include <string>

namespace sweetspot::store::postgres {

class Connection;

// Everything is in its own schema, "sweetspot", so that the database may hold other things. The
// schema stores its version; a change is a new step of migrations.cpp, as in
// store/sqlite/migrations.h.
int schema_version();

// Creates the schema or migrates it to this program's version, all steps or none, one process at a
// time. InputError if it is newer.
void set_up(Connection& connection, const std::string& url);
// The same, but it creates nothing: false if there is no schema yet.
bool set_up_if_there(Connection& connection, const std::string& url);

}  // namespace sweetspot::store::postgres
