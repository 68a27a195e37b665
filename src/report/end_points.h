#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::report {

// Where training ended at one setting, in all its trials with a measured end point: one per seed.
struct EndPointRow {
  trial::Setting setting;  // the seed aside
  int epochs = 0;
  std::vector<double> sharpness, train_loss, test_loss, gap;
};
// By setting, ascending.
std::vector<EndPointRow> end_point_rows(std::span<const trial::Trial> trials);

// "31.4 ±2.1": four digits of the mean, and the half-width of its 95% interval over seeds.
std::string mean_words(std::span<const double> values);

// Sharpness and generalisation gap against the batch, as a markdown table with a title; empty if no
// end point was measured.
std::string end_point_table(std::span<const trial::Trial> trials);
nlohmann::ordered_json end_point_json(std::span<const trial::Trial> trials);  // an array of rows

}  // namespace sweetspot::report
