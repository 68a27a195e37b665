#include <vector>

#include "cli/app.h"
#include "cli/signals.h"

int main(int argc, char** argv) {
  sweetspot::cli::turn_signals_into_errors();
  return sweetspot::cli::run({argv + 1, argv + argc});
}
