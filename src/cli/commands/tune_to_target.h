#pragma once
#include "advise/request.h"
#include "cli/commands/tune_flags.h"
#include "tuning/tune.h"

namespace sweetspot::store {
class Store;
}

namespace sweetspot::cli {

class Output;

// A tune that has measured the speeds.
struct Tuned {
  const TuneFlags& flags;
  const advise::Request& request;
  const tuning::TuneOptions& options;
  const tuning::TuneResult& speeds;
};
// The second part of `tune --for accuracy=0.99`: predicts and trains, prints the answer, and
// returns the exit code.
int tune_to_target(const Tuned& tuned, store::Store& store, Output& output);

}  // namespace sweetspot::cli
