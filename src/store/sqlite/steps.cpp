#include "store/sqlite/steps.h"

#include <bit>
#include <cstring>

namespace sweetspot::store::sqlite {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes are copied as they are");

constexpr std::size_t step_bytes = sizeof(double) * (1 + trial::phase_count) + 8 + 1;
constexpr unsigned char warm_up_flag = 1, outlier_flag = 2;

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

}  // namespace

std::string pack(const std::vector<trial::Step>& steps) {
  std::string bytes(steps.size() * step_bytes, '\0');
  char* to = bytes.data();
  for (const trial::Step& step : steps) {
    put(to, step.seconds);
    put(to, step.phases);
    put(to, step.samples);
    put(to, static_cast<unsigned char>((step.warm_up ? warm_up_flag : 0) |
                                       (step.outlier ? outlier_flag : 0)));
  }
  return bytes;
}

std::optional<std::vector<trial::Step>> unpack(std::string_view bytes) {
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
  }
  return steps;
}

}  // namespace sweetspot::store::sqlite
