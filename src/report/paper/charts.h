#pragma once
#include <string>

#include "report/paper/curve.h"

namespace sweetspot::report::paper {

// <svg> elements, each with its own id. A line for each number of epochs, over the batches.
std::string time_chart(const Curve& curve, const std::string& device, const std::string& id);
std::string accuracy_chart(const Curve& curve, const std::string& device, const std::string& id);
// The device's utilisation while each batch was trained, one after the other by size; empty where
// no trial has readings.
std::string utilisation_chart(const Device& device, const std::string& id);
std::string mean_utilisation_chart(const Curve& curve, const std::string& device,
                                   const std::string& id);

}  // namespace sweetspot::report::paper
