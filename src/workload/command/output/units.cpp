#include "workload/command/output/units.h"

#include <algorithm>
#include <array>
#include <string>

namespace sweetspot::workload::command::output {
namespace {

using namespace std::string_view_literals;

constexpr std::array update_units = {
    ""sv,     "it"sv,    "its"sv,       "batch"sv,      "batches"sv, "step"sv,    "steps"sv,
    "iter"sv, "iters"sv, "iteration"sv, "iterations"sv, "update"sv,  "updates"sv, "minibatch"sv};
constexpr std::array sample_units = {
    "ex"sv,     "example"sv, "examples"sv, "img"sv, "imgs"sv, "image"sv,    "images"sv,   "im"sv,
    "sample"sv, "samples"sv, "samp"sv,     "seq"sv, "seqs"sv, "sequence"sv, "sequences"sv};

}  // namespace

Counts counts_of(std::string_view unit) {
  std::string lower(unit.substr(0, 32));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto among = [&lower](const auto& units) {
    return std::find(units.begin(), units.end(), lower) != units.end();
  };
  if (among(update_units)) return Counts::updates;
  if (lower == "epoch" || lower == "epochs") return Counts::epochs;
  return among(sample_units) ? Counts::samples : Counts::something_else;
}

}  // namespace sweetspot::workload::command::output
