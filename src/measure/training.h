#pragma once
#include "measure/measure.h"
#include "workload/training.h"

namespace sweetspot::measure {

// One trial that trains rather than samples steps: to the last epoch asked for, evaluating after
// each. Outcomes, contention and `stop` are as measure()'s; Trial::epochs has what came of it.
trial::Trial train(workload::Training& training, const trial::Setting& setting, int epochs,
                   const Watch& watch, const std::atomic<int>& stop);
trial::Trial train(workload::Training& training, const trial::Setting& setting, int epochs,
                   const Watch& watch, const std::atomic<int>& stop, Machine& machine);

}  // namespace sweetspot::measure
