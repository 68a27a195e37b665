#include "trial/machine_speed.h"

#include <algorithm>

namespace sweetspot::trial {
namespace {

// What passes between cores varies by a quarter in itself.
constexpr double slow_exchange_share = 0.4;

double share(double now, double best) { return now > 0 && best > 0 ? 1 - now / best : 0; }

// Of two, of which either may be unknown.
double slower(double a, double b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

}  // namespace

double slower_share(const MachineSpeed& speed, const MachineSpeed& best) {
  return std::max(
      {0.0, share(speed.arithmetic, best.arithmetic), share(speed.exchange, best.exchange)});
}

bool is_slow(const MachineSpeed& speed, const MachineSpeed& best, double arithmetic_share) {
  return share(speed.arithmetic, best.arithmetic) > arithmetic_share ||
         share(speed.exchange, best.exchange) > slow_exchange_share;
}

MachineSpeed slowest(const MachineSpeed& a, const MachineSpeed& b) {
  return {slower(a.arithmetic, b.arithmetic), slower(a.exchange, b.exchange)};
}

MachineSpeed fastest(const MachineSpeed& a, const MachineSpeed& b) {
  return {std::max(a.arithmetic, b.arithmetic), std::max(a.exchange, b.exchange)};
}

MachineSpeed quantile(std::span<const MachineSpeed> speeds, double share) {
  const auto of = [&](double MachineSpeed::*part) {
    std::vector<double> values;
    for (const MachineSpeed& speed : speeds) values.push_back(speed.*part);
    const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
    std::ranges::nth_element(values, values.begin() + place);
    return values[static_cast<std::size_t>(place)];
  };
  return {of(&MachineSpeed::arithmetic), of(&MachineSpeed::exchange)};
}

}  // namespace sweetspot::trial
