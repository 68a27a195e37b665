#pragma once
#include <string>
#include <vector>

#include "report/paper/experiment.h"

namespace sweetspot::report::paper {

// <svg> elements, each with its own id. One line per number of epochs, over the batches.
std::string time_chart(const Curve& curve, const std::string& device, const std::string& id);
std::string accuracy_chart(const Curve& curve, const std::string& device, const std::string& id);
// The device's utilisation while each batch was trained, in order of size; empty if no trial has
// readings.
std::string utilisation_chart(const Device& device, const std::string& id);
std::string mean_utilisation_chart(const Curve& curve, const std::string& device,
                                   const std::string& id);

// What the paper says about one of its figures.
struct Quote {
  std::string figure;  // "Figure 3 (Ryzen 1800X)"
  std::string says;    // in its words, or, outside quotation marks, in ours
};

// Figures of the paper that show one thing on different machines, drawn once from this machine's
// numbers.
struct Figure {
  std::string title;                // "Figures 3, 5 and 10: training time on the CPU"
  std::vector<std::string> charts;  // <svg> elements
  std::string missing;              // why there is none
  std::vector<Quote> quotes;
};
std::vector<Figure> figures(const Experiment& experiment);

}  // namespace sweetspot::report::paper
