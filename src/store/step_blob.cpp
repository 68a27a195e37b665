#include "store/step_blob.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace sweetspot::store {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes are copied as they are");

constexpr std::size_t step_bytes = sizeof(double) * (1 + trial::phase_count) + 8 + 1 + 8 + 4;
constexpr std::size_t reading_bytes = sizeof(double) * 3 + 8;
constexpr unsigned char warm_up_flag = 1, outlier_flag = 2, slowed_flag = 4;

template <class T>
void put(char*& to, const T& value) {
  std::memcpy(to, &value, sizeof value);
  to += sizeof value;
}
template <class T>
void take(const char*& from, T& value) {
  std::memcpy(&value, from, sizeof value);
  from += sizeof value;
}

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t unknown_bytes = -1;

std::optional<double> take_known(const char*& from) {
  double value = unknown;
  take(from, value);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

}  // namespace

std::string pack(const std::vector<trial::Step>& steps) {
  std::string bytes(steps.size() * step_bytes, '\0');
  char* to = bytes.data();
  for (const trial::Step& step : steps) {
    put(to, step.seconds);
    put(to, step.phases);
    put(to, step.samples);
    put(to, static_cast<unsigned char>((step.warm_up ? warm_up_flag : 0) |
                                       (step.outlier ? outlier_flag : 0) |
                                       (step.slowed ? slowed_flag : 0)));
    put(to, step.updates);
    put(to, step.round);
  }
  return bytes;
}

std::string pack(const std::vector<trial::Reading>& trace) {
  std::string bytes(trace.size() * reading_bytes, '\0');
  char* to = bytes.data();
  for (const trial::Reading& reading : trace) {
    put(to, reading.at_seconds);
    put(to, reading.utilisation_share.value_or(unknown));
    put(to, reading.memory ? static_cast<std::int64_t>(*reading.memory) : unknown_bytes);
    put(to, reading.power_watts.value_or(unknown));
  }
  return bytes;
}

std::optional<std::vector<trial::Step>> unpack_steps(std::string_view bytes) {
  if (bytes.size() % step_bytes != 0) return std::nullopt;
  std::vector<trial::Step> steps(bytes.size() / step_bytes);
  const char* from = bytes.data();
  for (trial::Step& step : steps) {
    unsigned char flags = 0;
    take(from, step.seconds);
    take(from, step.phases);
    take(from, step.samples);
    take(from, flags);
    step.warm_up = flags & warm_up_flag;
    step.outlier = flags & outlier_flag;
    step.slowed = flags & slowed_flag;
    take(from, step.updates);
    take(from, step.round);
  }
  return steps;
}

std::optional<std::vector<trial::Reading>> unpack_trace(std::string_view bytes) {
  if (bytes.size() % reading_bytes != 0) return std::nullopt;
  std::vector<trial::Reading> trace(bytes.size() / reading_bytes);
  const char* from = bytes.data();
  for (trial::Reading& reading : trace) {
    std::int64_t memory = unknown_bytes;
    take(from, reading.at_seconds);
    reading.utilisation_share = take_known(from);
    take(from, memory);
    if (memory >= 0) reading.memory = static_cast<core::Bytes>(memory);
    reading.power_watts = take_known(from);
  }
  return trace;
}

}  // namespace sweetspot::store
