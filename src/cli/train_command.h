#pragma once
#include <string>

#include "cli/native_flags.h"
#include "trial/trial.h"

namespace sweetspot::cli {

// The `sweetspot train` command line of this setting, with the flags that were given, ready for a
// shell.
std::string train_command(const NativeFlags& flags, const trial::Setting& setting);

// Quoted where a shell would make something else of it.
std::string shell_word(const std::string& word);

}  // namespace sweetspot::cli
