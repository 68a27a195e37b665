#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/placeholders.h"
#include "trial/trial.h"
#include "workload/command/options.h"

namespace sweetspot::workload::command {

// The placeholders are {batch} {micro_batch} {accumulation} {precision} {workers} {lr}, and
// {config} or {config:NAME} for the filled copy of a template. As in hyperfine they cannot be
// escaped, and any other {word} stays unchanged.
using Placeholders = std::set<std::string>;  // with their braces
Placeholders used(const std::vector<std::string>& texts);
// Arguments, variables and the hooks of each trial.
std::vector<std::string> texts_of_trials(const Options& options);
// Anywhere: in arguments, variables, hooks of each trial, folder, templates and the values of their
// keys.
Placeholders used(const Options& options);

using Configs =
    std::vector<core::Placeholder>;  // {config} and {config:NAME}, with the copies' paths

// The setting as passed to the program: its part, if its batch is per GPU.
trial::Setting handed(const Options& options, const trial::Setting& setting);

// These fill in the setting as passed to the program.
std::string expand(std::string_view text, const trial::Setting& setting,
                   const Configs& configs = {});
std::vector<std::string> expand(const std::vector<std::string>& argv, const trial::Setting& setting,
                                const Configs& configs = {});

// The command that is run: the expanded arguments, or /bin/sh -c and all of them as one.
std::vector<std::string> command_line(const Options& options, const trial::Setting& setting,
                                      const Configs& configs = {});

// The folder to run in, as the options name it.
std::optional<std::filesystem::path> trial_folder(const Options& options,
                                                  const trial::Setting& setting);

// SWEETSPOT_BATCH and the other values of the setting.
Environment setting_environment(const trial::Setting& setting);

// All variables added for a trial: the setting's values, what makes programs show their steps
// immediately (PYTHONUNBUFFERED=1, and TQDM_MININTERVAL=0.05: tqdm's own default is ten lines a
// second), and last the options' own, which win. Variables that the user's environment already sets
// are not changed.
Environment trial_environment(const Options& options, const trial::Setting& setting,
                              const Configs& configs = {});

}  // namespace sweetspot::workload::command
