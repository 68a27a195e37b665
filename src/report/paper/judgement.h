#pragma once
#include <string>

#include "report/paper/claims.h"
#include "report/paper/curve.h"

namespace sweetspot::report::paper {

// Whether what was measured lies between two bounds, as far as its interval tells.
Verdict between(const stats::Interval& measured, double low, double high);

// "0.95 times (0.93 to 0.98)".
std::string times(const stats::Interval& ratio, int digits = 2);
// "98.19% (97.91 to 98.43)", "0.52 points (0.41 to 0.63)".
std::string percent(const stats::Interval& share);
std::string points(const stats::Interval& share);

// Those of training time; each is of one device.
Claim flat_on_cpu(const Curve& cpu);
Claim falls_on_gpu(const Curve& gpu);
Claim until_800_on_gpu(const Curve& gpu, const std::vector<std::int64_t>& batches);
Claim flat_on_cluster_gpu(const Curve& gpu);
Claim linear_in_epochs(const Curve& curve, const std::string& device, int epochs);
Claim five_epochs_beat_one(const Curve& gpu);
Claim cpu_takes_much_longer(const Curve& cpu, const Curve& gpu);

// Those of accuracy and utilisation.
Claim accuracy_falls(const Curve& curve);
Claim accuracy_recovers(const Curve& curve, int epochs);
Claim above(const Curve& curve, double share, const std::string& source);
Claim near_99_percent(const Curve& curve);
Claim utilisation_rises(const Curve& gpu);

// What is said of large batches in general; none where the ends of training were not looked at.
std::vector<Claim> sharp_minima(const Device& device);

}  // namespace sweetspot::report::paper
