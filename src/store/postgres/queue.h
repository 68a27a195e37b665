#pragma once
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"

namespace sweetspot::store::postgres {

class Connection;

std::unique_ptr<Queue> open_queue(const std::string& url, const trial::StudyKey& study_key,
                                  const trial::Environment& environment, const QueueTerms& terms);
std::vector<Attempt> select_attempts(Connection& connection, std::int64_t study);

}  // namespace sweetspot::store::postgres
