#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/paper/experiment.h"

namespace sweetspot::report::paper {

// `undecided`: the interval reaches both sides of the claim.
enum class Verdict { holds, does_not_hold, undecided, not_tested };
std::string_view name(Verdict verdict);   // "does_not_hold"
std::string_view words(Verdict verdict);  // "does not hold"

// One claim of the paper, judged by this machine's numbers.
struct Claim {
  std::string id{};      // "gpu-until-800"
  std::string says{};    // the claim
  std::string source{};  // where the paper says it
  Verdict verdict = Verdict::not_tested;
  std::string evidence{};  // what was measured, with intervals; or why nothing was
  // If it fails only because the engine has removed the overhead behind it: the proof.
  std::string overhead{};
};

// Every claim, in the paper's order. Pure: the trials decide.
std::vector<Claim> judge(const Experiment& experiment);

// PyTorch eager on one H200 takes 2.0 to 2.4 ms for a step of this network at every batch from 1 to
// 1000: launches, not work.
constexpr double eager_step_seconds = 2.2e-3;

// Whether the measured value is between two bounds, according to its interval.
Verdict between(const stats::Interval& measured, double low, double high);

// "0.95 times (0.93 to 0.98)".
std::string times(const stats::Interval& ratio, int digits = 2);
// "98.19% (97.91 to 98.43)", "0.52 points (0.41 to 0.63)".
std::string percent(const stats::Interval& share);
std::string points(const stats::Interval& share);

// Claims about training time; each is about one device.
Claim flat_on_cpu(const Curve& cpu);
Claim falls_on_gpu(const Curve& gpu);
Claim until_800_on_gpu(const Curve& gpu, const std::vector<std::int64_t>& batches);
Claim flat_on_cluster_gpu(const Curve& gpu);
Claim linear_in_epochs(const Curve& curve, const std::string& device, int epochs);
Claim five_epochs_beat_one(const Curve& gpu);
Claim cpu_takes_much_longer(const Curve& cpu, const Curve& gpu);

// Claims about accuracy and utilisation.
Claim accuracy_falls(const Curve& curve);
Claim accuracy_recovers(const Curve& curve, int epochs);
Claim above(const Curve& curve, double share, const std::string& source);
Claim near_99_percent(const Curve& curve);
Claim utilisation_rises(const Curve& gpu);

// Claims about large batches in general; none if no end points were measured.
std::vector<Claim> sharp_minima(const Device& device);

}  // namespace sweetspot::report::paper
