#include "report/paper/claims.h"

#include <fmt/format.h>

#include "core/text.h"
#include "report/paper/judgement.h"

namespace sweetspot::report::paper {
namespace {

Claim not_tested(Claim claim, const std::string& why) {
  claim.verdict = Verdict::not_tested;
  claim.evidence = why;
  return claim;
}

std::vector<Claim> judge_as_measured(const Experiment& experiment) {
  const std::string no_gpu = experiment.no_gpu.empty() ? "no GPU took part" : experiment.no_gpu;
  const std::string no_cpu = "the CPU took no part";
  const Device *cpu_device = experiment.cpu(), *gpu_device = experiment.gpu();
  const Curve cpu = cpu_device ? curve(*cpu_device, experiment) : Curve{};
  const Curve gpu = gpu_device ? curve(*gpu_device, experiment) : Curve{};
  const Curve& either = cpu_device ? cpu : gpu;
  const auto of_cpu = [&](Claim claim) { return cpu_device ? claim : not_tested(claim, no_cpu); };
  const auto of_gpu = [&](Claim claim) { return gpu_device ? claim : not_tested(claim, no_gpu); };
  return {
      of_cpu(flat_on_cpu(cpu)),
      of_cpu(linear_in_epochs(cpu, "cpu", experiment.epochs)),
      accuracy_falls(either),
      above(either, 0.90, "Figure 4"),
      accuracy_recovers(either, experiment.epochs),
      not_tested(
          {.id = "newer-cpu",
           .says = "A newer CPU is significantly faster, with the same patterns",
           .source = "Figures 5 and 6"},
          "there is one CPU here; sweetspot report --compare sets two machines side by side"),
      of_gpu(falls_on_gpu(gpu)),
      of_gpu(until_800_on_gpu(gpu, experiment.batches)),
      of_gpu(linear_in_epochs(gpu, "gpu", experiment.epochs)),
      of_gpu(five_epochs_beat_one(gpu)),
      of_gpu(of_cpu(cpu_takes_much_longer(cpu, gpu))),
      above(gpu_device ? gpu : cpu, 0.94, "Figure 8"),
      near_99_percent(gpu_device ? gpu : cpu),
      of_gpu(utilisation_rises(gpu)),
      of_gpu(flat_on_cluster_gpu(gpu)),
  };
}

std::string milliseconds(double seconds) { return core::format_duration(core::Seconds(seconds)); }

}  // namespace

std::vector<Claim> judge(const Experiment& experiment) {
  std::vector<Claim> claims = judge_as_measured(experiment);
  const Device *gpu = experiment.gpu(), *cpu = experiment.cpu();
  const std::vector<Claim> minima = cpu ? sharp_minima(*cpu) : std::vector<Claim>{};
  if (!gpu) {
    claims.insert(claims.end(), minima.begin(), minima.end());
    return claims;
  }
  // What does not hold here, and would if a step cost what it costs elsewhere, is the engine's
  // work.
  const std::vector<Claim> slower =
      judge_as_measured(with_slowest_steps(experiment, eager_step_seconds));
  const auto fixed = fixed_step_seconds(curve(*gpu, experiment));
  for (std::size_t i = 0; i < claims.size(); ++i)
    if (claims[i].verdict == Verdict::does_not_hold && slower[i].verdict == Verdict::holds)
      claims[i].overhead = fmt::format(
          "the engine has removed the overhead behind it: {}where PyTorch takes 2.0 to 2.4 ms for "
          "any step up to batch 1000 on an H200. Had no step here taken less than {}, it would "
          "hold: {}",
          fixed ? fmt::format("a step has a fixed cost of {} (at most {}), ",
                              milliseconds(std::max(0.0, fixed->mean)), milliseconds(fixed->high))
                : "",
          milliseconds(eager_step_seconds), slower[i].evidence);
  claims.insert(claims.end(), minima.begin(), minima.end());
  return claims;
}

}  // namespace sweetspot::report::paper
