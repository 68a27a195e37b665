#pragma once
#include <string>
#include <vector>

#include "trial/trial.h"
#include "workload/command/options.h"

namespace sweetspot::workload::command {

// For --template: "FILE" or "FILE:COPY", with the file's text. InputError if it cannot be read.
Template read_template(const std::string& argument);
// InputError if it cannot be read, or is too large for a configuration.
std::string read_text(const std::filesystem::path& file);
// For --set: "KEY=VALUE".
Edit parse_edit(const std::string& argument);

// As in {config:NAME}: the file's name without its folder.
std::string template_name(const Template& one);
// The edits for it: all of them if there is one template; else those whose key is only in this one,
// or which name it, as in --set model.yaml:train.batch_size={batch}. Their keys are without that
// prefix. InputError if it is ambiguous.
std::vector<Edit> edits_of(const Options& options, const Template& one);
bool is_edited(const Options& options, const Template& one);  // if it is unambiguous

// Its text at a setting.
std::string filled(const Options& options, const Template& one, const trial::Setting& setting);

// InputError for templates and edits that cannot be filled at any setting, or that nothing reads.
void check_templates(const Options& options);

}  // namespace sweetspot::workload::command
