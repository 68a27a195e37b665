#pragma once
#include <cstdint>

#include "core/random.h"
#include "data/sources.h"

namespace sweetspot::data {

// Each quantity of a synthetic data set has its own stream, so that none repeats another's numbers.
enum class Stream : std::uint32_t {
  shared,  // what both splits have in common: the class patterns, or the linear map
  train_answers,
  test_answers,
  train_inputs,
  test_inputs
};

inline core::Random stream(const SyntheticOptions& options, Stream which) {
  return {options.seed, core::Purpose::synthetic, static_cast<std::uint32_t>(which)};
}

struct Split {
  std::size_t count;
  Stream answers, inputs;
};

// Fill the train and test halves of a data set: class pattern plus noise, in bytes; and a linear
// map plus noise, in floats.
void make_images(const SyntheticOptions& options, const Split& split, Samples& samples);
void make_regression(const SyntheticOptions& options, const Split& split, Samples& samples);

}  // namespace sweetspot::data
