#include "study/batch_use_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "study/loop.h"

namespace sweetspot::study {

void BatchUseCheck::look(std::vector<trial::Trial>& curve, Loop& loop) {
  if (destination_) {
    signs_ = advise::batch_signs(curve);
    verdict_ = advise::batch_use(signs_);
    if (verdict_.use == advise::BatchUse::clamped && !verdict_.exhausted && !settled_)
      verdict_ = {.use = advise::BatchUse::used};
  }
  using trial::Outcome;
  for (trial::Trial& trial : curve) {
    if (!trial.samples_per_second) continue;
    const auto why = objection(trial.setting.batch);
    if (trial.outcome != (why ? Outcome::ok : Outcome::refused)) continue;
    trial.outcome = why ? Outcome::refused : Outcome::ok;
    trial.note = why.value_or("");
    loop.say_of(trial);
  }
}

std::optional<advise::Doubt> BatchUseCheck::doubt() const {
  if (!is_doubtful(verdict_)) return std::nullopt;
  return advise::Doubt{verdict_.use, signs_, *destination_, verdict_.scale, verdict_.used};
}

std::optional<std::string> BatchUseCheck::objection(std::int64_t batch) const {
  if (verdict_.use != advise::BatchUse::clamped || batch <= *verdict_.limit) return std::nullopt;
  return fmt::format("the program seems to clamp its batch at about {}",
                     core::format_count(static_cast<double>(*verdict_.clamp)));
}

}  // namespace sweetspot::study
