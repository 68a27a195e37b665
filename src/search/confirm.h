#pragma once
#include <optional>
#include <span>

#include "search/evidence.h"
#include "search/search.h"

namespace sweetspot::search {

// A trial's interval cannot know how the machine changes from one trial to the next. So the first
// batch, a cheap one, is measured `limits.repeats` times at once: how far those lie apart is how
// far any trial is trusted. This asks for it while it is the only one known.
std::optional<std::int64_t> unrepeated_first(std::span<const trial::Trial> trials,
                                             const Evidence& evidence, const Limits& limits);

// A batch that was only ever measured while other processes kept the machine busy, and is worth
// another try: none once most trials are like that, for then the machine is not going to be calm,
// and none after a few such tries, which the answer may not rest on.
std::optional<std::int64_t> always_contended(std::span<const trial::Trial> trials,
                                             const Limits& limits);

// The batch whose trial is to be repeated before the answer is given, or none: the batches that the
// answer rests on (the chosen one, the fastest, and the next smaller one where it comes close) are
// measured again in turn, until each has `limits.repeats` trials from different moments, and the
// chosen one another. Where these leave it open how fast a batch is, it gets up to three times as
// many, as long as all trials took under 20 seconds and most were not contended.
std::optional<std::int64_t> unconfirmed(std::span<const trial::Trial> trials, const Choice& choice,
                                        const Evidence& evidence, const Limits& limits);

}  // namespace sweetspot::search
