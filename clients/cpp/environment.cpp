#include "environment.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <system_error>

namespace sweetspot::client {
namespace {

// The variable must be a complete number of at least this value.
template <class Number>
bool read(const char* variable, Number least, Number& number) {
  const char* text = std::getenv(variable);
  if (!text) return false;
  const char* end = text + std::strlen(text);
  Number value{};
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || !(value >= least) ||
      !std::isfinite(static_cast<double>(value)))
    return false;
  number = value;
  return true;
}

// The first of the variables that contains a number.
std::optional<std::int64_t> first_of(std::initializer_list<const char*> variables) {
  std::int64_t number = 0;
  for (const char* variable : variables)
    if (read(variable, std::numeric_limits<std::int64_t>::min(), number)) return number;
  return std::nullopt;
}

}  // namespace

void complete(Setting& setting, bool micro_batch_given) {
  if (!micro_batch_given)
    setting.micro_batch = (setting.batch + setting.accumulation - 1) / setting.accumulation;
}

Setting from_environment(Setting setting) {
  const std::int64_t one = 1;
  const bool batch = read("SWEETSPOT_BATCH", one, setting.batch);
  const bool accumulation = read("SWEETSPOT_ACCUMULATION", one, setting.accumulation);
  const bool micro_batch = read("SWEETSPOT_MICRO_BATCH", one, setting.micro_batch);
  complete(setting, micro_batch || !(batch || accumulation));
  if (const char* precision = std::getenv("SWEETSPOT_PRECISION"); precision && *precision)
    setting.precision = precision;
  read("SWEETSPOT_WORKERS", 0, setting.workers);
  read("SWEETSPOT_LR", 0.0, setting.learning_rate);
  return setting;
}

bool is_first_rank() { return first_of({"RANK", "LOCAL_RANK", "SLURM_PROCID"}).value_or(0) <= 0; }

bool is_alone() { return first_of({"WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}).value_or(1) <= 1; }

}  // namespace sweetspot::client
