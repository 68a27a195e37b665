#include "study/predict.h"

#include <limits>
#include <map>
#include <memory>

#include "core/error.h"

namespace sweetspot::study {

search::Predict predictor(const workload::Workload& workload, const trial::Setting& base) {
  using Known = std::map<std::int64_t, std::optional<core::Bytes>>;
  return [&workload, base, known = std::make_shared<Known>()](std::int64_t batch) {
    const auto [entry, is_new] = known->try_emplace(batch);
    if (!is_new) return entry->second;
    trial::Setting setting = base;
    setting.batch = batch;
    try {
      entry->second = workload.predict(setting);
    } catch (const core::Error&) {
      entry->second = std::numeric_limits<core::Bytes>::max();
    }
    return entry->second;
  };
}

}  // namespace sweetspot::study
