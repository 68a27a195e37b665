#pragma once
#include <array>
#include <cstddef>

#include "stats/batch_means.h"

// Every constant of the experiment that finds a batch size, each with its reason.
namespace sweetspot::experiment {

// --- Rounds: what is measured together.
// Short: blocks of a shared machine differ as much at ten milliseconds as at a second, so only
// their number helps. Long enough that switching sessions costs little beside them.
inline constexpr double block_seconds = 0.01;
// A tune ends then if nothing ended it before; --budget says otherwise. Of twenty seconds, and of
// eight on a GPU, three are left for energy, the noise scale of the gradients and saving.
inline constexpr double cpu_limit_seconds = 16.5, gpu_limit_seconds = 5;

// --- Data model: standard deviations of logarithms of step times.
// A batch's estimate is the mean of the calmer half of its blocks without this share of them: a
// calm machine is what is asked for, the fastest blocks may be luck, and one quantile alone would
// waste the others (a fifth more error in recordings of shared machines).
inline constexpr double calm_from = 0.1;
// From one study to the next every batch drifts by itself, which no number of rounds tells: by this
// share of what its blocks vary, as replays of recorded machines show.
inline constexpr double drift_share = 0.05;
// How far separate runs of a program lie apart before that is known, with the weight of two runs.
inline constexpr double run_deviation = 0.015;
// Likewise of a program on a GPU whose steps agree: those of an H200 came back to a third of a
// percent.
inline constexpr double fine_run_deviation = 0.005;
// A run beside another busy process tells little.
inline constexpr double contended_deviation = 0.1;

// --- Decision.
// A doubling of the batch beyond what is needed costs as much as this share of throughput.
inline constexpr double price_of_doubling = 0.02;
// Whether a batch is within the tolerance is open while its probability lies further than this from
// no and from yes.
inline constexpr double open_share = 0.03;

// --- What the step model believes before anything is measured: standard deviations of logarithms
// unless they say otherwise, which measurements overrule soon.
// Caches are outgrown and algorithms change, seldom and noticeably.
inline constexpr double cliffs_per_octave = 0.1, cliff_deviation = 0.25;
// What else a curve strays from its line by, hardly or much, and the octaves over which it forgets.
inline constexpr std::array roughness = {0.01, 0.04};
inline constexpr double octaves_of_memory = 3;
// What a batch has for itself, its neighbours notwithstanding.
inline constexpr double own_deviation = 0.006;

// --- What follows from these.
// Below so many rounds their spread is not known well enough to resample them. More batches at once
// than that, or twice as many in all, leave too few blocks for each.
inline constexpr std::size_t least_rounds = stats::min_batches_for_interval;
inline constexpr std::size_t most_in_rounds = least_rounds, most_batches = 2 * most_in_rounds;
// A batch is worth a look while its step takes no longer; ten times as long while the step's fixed
// cost still matters, a hundred times while it matters much.
inline constexpr double cheap_step_seconds = 10 * block_seconds;
inline constexpr double calm_to = 0.5;  // the calmer half
// How much blocks vary before that is known: as much as a curve may.
inline constexpr double block_deviation = roughness.back();
// What no number of steps tells of a session on a CPU, by where its memory came to lie, after
// several were opened in turn: one alone differs by one to three percent.
inline constexpr double place_deviation = fine_run_deviation;
// Steps of a GPU that vary more than its runs wait for their CPU, and vary as on a CPU.
inline constexpr double gpu_step_deviation = fine_run_deviation;
// Rounds are of one process, which varies less than runs: no drift is below this. Where step times
// are known to twice as much, half a doubling is worth a look. A noisier machine has better things
// to measure, and answers in powers of two.
inline constexpr double least_drift = fine_run_deviation / 5, fine_deviation = 2 * least_drift;
// Answers whose expected losses differ by less than runs do are equal: then what people are used to
// decides.
inline constexpr double fine_equal_loss = fine_run_deviation, coarse_equal_loss = run_deviation;
// More rounds have to promise to save a tenth of that share of throughput, another run a half.
inline constexpr double worth_measuring = fine_equal_loss / 10, worth_a_run = fine_equal_loss / 2;
// What an answer lacks beyond the tolerance counts once on a noisy machine, which does not resolve
// it, and where runs repeat as many times more as they repeat better: the tolerance was asked for.
inline constexpr double price_of_excess = run_deviation / fine_run_deviation;

}  // namespace sweetspot::experiment
