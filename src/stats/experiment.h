#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "stats/batch_means.h"

// Every constant of the experiment that finds a batch size, each with its reason.
namespace sweetspot::experiment {

// --- What counts.
// A difference that a user notices: the default tolerance of an answer, and what a change must
// bring to be worth making.
inline constexpr double noticeable_share = 0.05;

// --- Rounds: what is measured together.
// Short: blocks of a shared machine differ as much at ten milliseconds as at a second, so only
// their number helps. Long enough that switching sessions costs little in comparison.
inline constexpr double block_seconds = 0.01;
// The time limit of a tune; --budget overrides it. Of twenty seconds, and of eight on a GPU, three
// are left for energy, the gradient noise scale and saving.
inline constexpr double cpu_limit_seconds = 16.5, gpu_limit_seconds = 5;
constexpr double limit_seconds(bool on_gpu) {
  return on_gpu ? gpu_limit_seconds : cpu_limit_seconds;
}
// The growth factor between batches if nothing says how far to go.
inline constexpr std::int64_t most_growth = 4;

// --- Data model: standard deviations of logarithms of step times.
// A batch's estimate is the mean of the faster half of its blocks without this share of the
// fastest: the goal is the speed of an undisturbed machine, the fastest blocks may be luck, and a
// single quantile would waste the others (a fifth more error in recordings of shared machines).
inline constexpr double calm_from = 0.1;
// Between studies every batch drifts independently, which no number of rounds reveals: by this
// share of the spread of its blocks, as replays of recorded machines show.
inline constexpr double drift_share = 0.04;
// The prior of the deviation between separate runs of a program, with the weight of two runs.
inline constexpr double run_deviation = 0.015;
// The same for a program on a GPU whose steps agree: an H200 repeated to a third of a percent.
inline constexpr double fine_run_deviation = 0.005;

// --- Decision.
// A doubling of the batch beyond what is needed costs as much as this share of throughput.
inline constexpr double price_of_doubling = 0.02;
// Whether a batch is within the tolerance is open while its probability is further than this from 0
// and from 1.
inline constexpr double open_share = 0.03;
// Where runs repeat, an answer keeps the tolerance with this probability.
inline constexpr double kept_share = 0.8;

// --- Priors of the step model: standard deviations of logarithms unless noted. Measurements soon
// dominate them.
// Caches are outgrown and algorithms change, rarely and noticeably.
inline constexpr double cliffs_per_octave = 0.1, cliff_deviation = 0.25;
// The other deviation of a curve from its line, small or large, and its correlation length in
// octaves.
inline constexpr std::array roughness = {0.01, 0.04};
inline constexpr double octaves_of_memory = 3;
// The independent deviation of a single batch.
inline constexpr double own_deviation = 0.006;

// --- What follows from these.
// With fewer rounds, their spread is not known well enough to resample them. More batches at once
// than that, or twice as many in all, leave too few blocks for each.
inline constexpr std::size_t least_rounds = stats::min_batches_for_interval;
inline constexpr std::size_t most_in_rounds = least_rounds, most_batches = 2 * most_in_rounds;
// Where a search begins, two such steps above the smallest batch: small enough to be cheap and to
// fit, large enough that padding does not decide.
inline constexpr std::int64_t first_batch = most_growth * most_growth;
// The share of the time for each end of the range, which fixes the line and is rarely an answer;
// and for what else serves the answer without being one: each batch that it is only compared with,
// and reopening sessions.
inline constexpr double end_share = noticeable_share, side_share = 3 * noticeable_share;
// A single block may have met a fast moment: what a calm machine does shows in two, of two batches.
inline constexpr std::size_t least_calm = 2;
// A batch is worth measuring while its step takes no longer; ten times as long while the step's
// fixed cost still matters, a hundred times while it matters much.
inline constexpr double cheap_step_seconds = 10 * block_seconds;
inline constexpr double calm_to = 0.5;  // the calmer half
// The prior spread of blocks: as much as a curve may deviate.
inline constexpr double block_deviation = roughness.back();
// The effect of memory layout on a CPU session, which no number of steps reveals, after several
// were opened in turn: a single one differs by one to three percent.
inline constexpr double place_deviation = fine_run_deviation;
// Of steps that repeat, the slowest is hardly slower than the fastest: four deviations. A trial is
// known as precisely when it ends.
inline constexpr double steady_share = 4 * fine_run_deviation;
// A run next to another busy process says little.
inline constexpr double contended_deviation = 2 * noticeable_share;
// GPU steps that vary more than its runs wait for their CPU, and vary as on a CPU.
inline constexpr double gpu_step_deviation = fine_run_deviation;
// Rounds are from one process, which varies less than runs: no drift is below this. If step times
// are known to twice as much, half a doubling is worth measuring. A noisier machine has better
// things to measure, and answers in powers of two.
inline constexpr double least_drift = fine_run_deviation / 5, fine_deviation = 2 * least_drift;
// Answers whose expected losses differ by less than runs do are equal: then convention decides. In
// between, in proportion to the error of the step times, so that no small difference in noise
// changes the convention.
inline constexpr double fine_equal_loss = fine_run_deviation, coarse_equal_loss = run_deviation;
constexpr double equal_loss(double deviation) {
  return std::clamp(fine_equal_loss * deviation / fine_deviation, fine_equal_loss,
                    coarse_equal_loss);
}
// More rounds must promise to save a tenth of that share of throughput, another run a half.
inline constexpr double worth_measuring = fine_equal_loss / 10, worth_a_run = fine_equal_loss / 2;
// The excess over the tolerance counts once on a noisy machine, which does not resolve it, and more
// where steps or runs repeat, in proportion to how much better they repeat.
inline constexpr double price_of_excess = run_deviation / fine_run_deviation;

}  // namespace sweetspot::experiment
