#pragma once
#include <optional>

#include "workload/native/options.h"

namespace CLI {
class App;
}

namespace sweetspot::cli {

// The flags of a native training run: `train` takes them all, `tune` and `sweep` those that its
// speed depends on, `memory` those that memory depends on.
struct NativeFlags {
  workload::native::Options options;
  std::optional<double> learning_rate, momentum, weight_decay;
  bool json = false;

  NativeFlags();
  // The options with the optimizer's own defaults filled in; InputError for flags that do not go
  // together.
  workload::native::Options resolved() const;
};

void add_memory_flags(CLI::App& app, NativeFlags& flags);
void add_workload_flags(CLI::App& app, NativeFlags& flags);  // those of memory too
void add_training_flags(CLI::App& app, NativeFlags& flags);

}  // namespace sweetspot::cli
