#pragma once
#include <array>
#include <cstdint>

// What StepModel believes before anything is measured. Widths, not wishes: each is a standard
// deviation of a logarithm unless it says otherwise, and measurements overrule them soon.
namespace sweetspot::stats::prior {

constexpr double cliffs_per_octave = 0.1;
constexpr double cliff = 0.25;                // of a cliff's factor
constexpr double octaves_beyond_largest = 8;  // where cliffs may be above the largest point
constexpr std::array roughness = {0.01, 0.04};
constexpr double octaves_of_memory = 3;  // over which g forgets
constexpr double own = 0.006;  // what a batch has for itself, its neighbours notwithstanding
constexpr double speed = 30;   // of the time per sample: any speed at all

struct Padding {
  std::int64_t multiple;
  double probability;
};
constexpr std::array paddings = {Padding{1, 0.7}, Padding{8, 0.1}, Padding{16, 0.1},
                                 Padding{32, 0.1}};
// Fixed costs, in samples' worth of time: none, or 1/8 to 4096, this many to an octave.
constexpr double least_fixed_octave = -3, most_fixed_octave = 12, fixed_per_octave = 2;

}  // namespace sweetspot::stats::prior
