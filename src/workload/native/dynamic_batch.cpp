#include "workload/native/dynamic_batch.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/number.h"
#include "core/text.h"

namespace sweetspot::workload::native {
namespace {

constexpr std::string_view word = "dynamic";
constexpr std::int64_t most_rung = std::int64_t{1} << 40;

}  // namespace

std::vector<std::int64_t> DynamicBatch::ladder() const {
  std::vector<std::int64_t> rungs;
  for (std::int64_t batch = least; batch <= most; batch *= 2) rungs.push_back(batch);
  return rungs;
}

bool asks_for_dynamic_batch(std::string_view text) { return text.starts_with(word); }

DynamicBatch parse_dynamic_batch(std::string_view text) {
  if (text == word) return {};
  const std::size_t dots = text.find("..");
  if (text[word.size()] != ':' || dots == std::string_view::npos)
    throw core::InputError(fmt::format(
        "--batch '{}' is not known; write dynamic, or dynamic:LEAST..MOST as in dynamic:32..2048",
        core::printable(text)));
  const DynamicBatch batch{core::parse_whole(text.substr(word.size() + 1, dots - word.size() - 1),
                                             "the least batch of --batch dynamic", 1, most_rung),
                           core::parse_whole(text.substr(dots + 2),
                                             "the largest batch of --batch dynamic", 1, most_rung),
                           true};
  if (batch.most < batch.least)
    throw core::InputError(
        fmt::format("a dynamic batch grows, and cannot from {} to {}; write the smaller one first",
                    batch.least, batch.most));
  return batch;
}

}  // namespace sweetspot::workload::native
