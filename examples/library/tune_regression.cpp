#include <sweetspot/tune.h>

#include <chrono>
#include <iostream>

#include "regression.h"

int main() {
  Regression model;
  sweetspot::Options options;
  options.name = "regression";
  options.max = Regression::samples;
  options.budget = std::chrono::seconds(10);
  options.progress = [](const sweetspot::Progress& progress) {
    if (progress.trial) std::cerr << "tried batch " << progress.batch << '\n';
  };

  const sweetspot::Result result = sweetspot::tune(options, [&](int batch, int steps) {
    for (int i = 0; i < steps; ++i) model.step(batch);
  });

  if (!result.batch) {
    std::cerr << result.message << '\n';
    return 1;
  }
  std::cout << result.table << '\n' << result.sentence << '\n';
  for (const std::string& reason : result.reasons) std::cout << "- " << reason << '\n';
}
