#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "data/pipeline.h"

namespace sweetspot::data {

LoadDelay parse_load_delay(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view unit = slash == text.npos ? "batch" : text.substr(slash + 1);
  if (unit != "batch" && unit != "sample")
    throw core::InputError(
        fmt::format("--load-delay '{}' is not understood; write it like 20ms/batch or 50us/sample",
                    core::printable(text)));
  return {core::parse_duration(text.substr(0, slash), "--load-delay"), unit == "sample"};
}

}  // namespace sweetspot::data
