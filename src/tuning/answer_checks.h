#pragma once
#include <optional>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "study/loop.h"

namespace sweetspot::tuning {

using study::Loop;

// The gradient noise at the answer, from a short training at the learning rate's own batch. nullopt
// if unknown.
std::optional<trial::GradientNoise> measure_noise(Loop& loop, workload::Workload& workload,
                                                  const advise::Recommendation& made,
                                                  const advise::LearningRateBase& base);

// Short runs at half, once and twice the answer's learning rate. Empty if that is not possible, or
// was stopped.
std::vector<trial::RateRun> check_rate(Loop& loop, workload::Workload& workload,
                                       const advise::Recommendation& made);

// The speed of the ranks at the answer compared with a single one; nullopt without ranks, or if
// unknown.
std::optional<trial::Scaling> check_scaling(Loop& loop, workload::Workload& workload,
                                            const advise::Recommendation& made);

// How long the answer is run to confirm it.
struct Confirm {
  std::optional<std::int64_t> steps;  // nullopt: an epoch
};
std::string words(const Confirm& confirm);  // "200 steps", "an epoch"

// Runs a setting for the requested time; an epoch ends with an evaluation, whose memory and outcome
// count. `steps_of_epoch`: as the program counts them. nullopt if the loop stored no trial of it.
std::optional<trial::Trial> run_to_confirm(Loop& loop, workload::Workload& workload,
                                           const Confirm& confirm, const trial::Setting& setting,
                                           std::optional<std::int64_t> steps_of_epoch);

// If loading is the bottleneck of the chosen trial: follows the advice in one trial, or finds that
// trial in the store, and returns the result. nullopt if loading is not the bottleneck, if nothing
// that helps fits in memory, or if no further trial may begin.
std::optional<advise::LoaderCheck> check_loader(Loop& loop, const workload::Workload& workload,
                                                const trial::Trial& chosen,
                                                const advise::Facts& facts);

// Doubles the loader's workers at the chosen setting as long as that pays: if the data wait is
// measured and short, nothing is tried; if it is not visible, a trial decides. What is known in a
// resumed study is not measured again.
advise::WorkerSearch search_workers(Loop& loop, const trial::Trial& chosen, int most_workers);

}  // namespace sweetspot::tuning
