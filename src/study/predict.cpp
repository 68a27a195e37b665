#include "study/predict.h"

#include <limits>
#include <map>
#include <memory>

#include "core/error.h"

namespace sweetspot::study {

search::Predict predictor(const workload::Workload& workload, const Axis& axis) {
  using Known = std::map<std::int64_t, std::optional<core::Bytes>>;
  return [&workload, axis, known = std::make_shared<Known>()](std::int64_t size) {
    const auto [entry, is_new] = known->try_emplace(size);
    if (!is_new) return entry->second;
    try {
      entry->second = workload.predict(axis.at(size));
    } catch (const core::Error&) {
      entry->second = std::numeric_limits<core::Bytes>::max();
    }
    return entry->second;
  };
}

}  // namespace sweetspot::study
