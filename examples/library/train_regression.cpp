// A session: sweetspot tune --batch-from-env -- train_regression
// Alone it trains one batch size, and stops after some steps.
#include <sweetspot/client.h>

#include "regression.h"

int main() {
  sweetspot::Client client;
  while (const auto setting = client.next()) {
    Regression model;
    client.begin();
    bool measured = false;
    for (int step = 0; step < 100000 && !measured; ++step) {
      model.step(static_cast<int>(setting->batch));
      measured = client.step();
    }
  }
}
