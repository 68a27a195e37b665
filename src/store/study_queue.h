#pragma once
#include <memory>
#include <vector>

#include "store/database.h"
#include "store/store.h"

namespace sweetspot::store {

std::unique_ptr<Queue> open_queue(const Database& database, const trial::StudyKey& study_key,
                                  const trial::Environment& environment, const QueueTerms& terms);
std::vector<Attempt> select_attempts(Connection& connection, std::int64_t study);

}  // namespace sweetspot::store
