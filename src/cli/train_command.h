#pragma once
#include "cli/flags/native_flags.h"
#include "report/command.h"

namespace sweetspot::cli {

// The `sweetspot train` command line with the flags that were given, at any setting.
report::Command train_command(const NativeFlags& flags);

}  // namespace sweetspot::cli
