#pragma once
#include <cstdint>
#include <string>

namespace sweetspot::store::postgres {

class Connection;

// A study is written by one process alone, or by any number that share its queue.
enum class Share { alone, with_others };

// Advisory locks of the server, held by a connection: it lets go of them when that ends, however it
// ends, so that no lock is ever stale.
bool try_lock(Connection& connection, std::int64_t study, Share share);
void lock_setup(Connection& connection);  // until the transaction's end
// SQL that is true of the studies, in the column `study.id`, that somebody holds.
std::string is_locked_sql();

}  // namespace sweetspot::store::postgres
