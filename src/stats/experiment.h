#pragma once
#include <array>
#include <cstdint>

// Every constant of the experiment that finds a batch size, each with its reason.
namespace sweetspot::experiment {

// --- Rounds: what is measured together.
// Short: blocks of a shared machine differ as much at ten milliseconds as at a second, so only
// their number helps. Long enough that switching sessions costs little beside them.
inline constexpr double block_seconds = 0.01;
// A tune ends then if nothing ended it before; --budget says otherwise. Of twenty seconds, and of
// eight on a GPU, three are left for energy, the noise scale of the gradients and saving.
inline constexpr double cpu_limit_seconds = 16.5, gpu_limit_seconds = 5;
// More batches at once, or in all, leave too few blocks for each.
inline constexpr std::size_t most_in_rounds = 8, most_batches = 16;
// Below so many rounds their spread is not known well enough to resample them.
inline constexpr std::size_t least_rounds = 8;
// A batch is worth a look while its step takes no longer; ten times as long while the step's fixed
// cost still matters, a hundred times while it matters much.
inline constexpr double cheap_step_seconds = 0.1;

// --- Data model.
// How much blocks of a batch vary before that is known.
inline constexpr double block_deviation = 0.04;
// A batch's estimate is the mean of its blocks between these quantiles: a calm machine is what is
// asked for, the fastest blocks may be luck, and one quantile alone would waste the others (a fifth
// more error in recordings of shared machines).
inline constexpr double calm_from = 0.1, calm_to = 0.5;
// From one study to the next every batch drifts by itself, which no number of rounds tells: by this
// share of what its blocks vary, as replays of recorded machines show, and never by less.
inline constexpr double drift_share = 0.05, least_drift = 0.001;
// What a CPU session's speed differs by from the next one's of the same batch, by where its memory
// came to lie, after several were opened in turn: one alone differs by one to three percent.
inline constexpr double place_deviation = 0.005;
// How far separate runs of a program lie apart before that is known, with the weight of two runs.
inline constexpr double run_deviation = 0.015;
// Likewise of a program on a GPU whose steps agree: those of an H200 came back to a third of a
// percent. A step that waits for its CPU varies as on a CPU.
inline constexpr double gpu_run_deviation = 0.005, gpu_step_deviation = 0.005;
// A run beside another busy process tells little.
inline constexpr double contended_deviation = 0.1;

// --- Decision.
// A doubling of the batch beyond what is needed costs as much as this share of throughput.
inline constexpr double price_of_doubling = 0.02;
// What an answer lacks beyond the tolerance counts so many times where runs repeat well enough to
// see it: the tolerance was asked for. Elsewhere once, since a noisy machine does not resolve it.
inline constexpr double price_of_excess = 4;
// Where step times are known this well, half a doubling is worth a look. A noisier machine has
// better things to measure, and answers in powers of two.
inline constexpr double fine_deviation = 0.002;
// Answers whose expected losses differ by less are equal: then what people are used to decides.
inline constexpr double fine_equal_loss = 0.005, coarse_equal_loss = 0.015;
// Whether a batch is within the tolerance is open while its probability lies further than this from
// no and from yes.
inline constexpr double open_share = 0.03;
// More rounds, or another run of a program, have to promise to save this share of throughput.
inline constexpr double worth_measuring = 0.0005, worth_a_run = 0.0025;

// --- Energy.
// How far two readings of a batch's power lie apart before that is known, and how far it may lie
// from its neighbours' for each octave between them.
inline constexpr double power_deviation = 0.01, power_deviation_per_octave = 0.03;
// An answer that turns out to be slower than was allowed loses as much as this share of energy, and
// what it is too slow by.
inline constexpr double price_of_slowness = 0.05;
// For a reading of power that decides: it has risen after the first, and is read over the second.
inline constexpr double power_rise_seconds = 0.25, power_reading_seconds = 0.5;

// --- What the step model believes before anything is measured: standard deviations of logarithms
// unless they say otherwise, which measurements overrule soon.
inline constexpr double cliffs_per_octave = 0.1, cliff_deviation = 0.25;
inline constexpr std::array roughness = {0.01, 0.04};
inline constexpr double octaves_of_memory = 3;  // over which the roughness forgets
inline constexpr double own_deviation =
    0.006;  // what a batch has for itself, its neighbours notwithstanding

}  // namespace sweetspot::experiment
