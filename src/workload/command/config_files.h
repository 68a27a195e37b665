#pragma once
#include <string>
#include <vector>

#include "trial/trial.h"
#include "workload/command/options.h"

namespace sweetspot::workload::command {

// Of --template: "FILE" or "FILE:COPY", with the file's text. InputError when it cannot be read.
Template read_template(const std::string& argument);
// InputError when that cannot be done, or is too large for a configuration.
std::string read_text(const std::filesystem::path& file);
// Of --set: "KEY=VALUE".
Edit parse_edit(const std::string& argument);

// As it stands in {config:NAME}: the file's name without its folder.
std::string template_name(const Template& one);
// The edits that are meant for it: all of them where there is one template; else those whose key is
// in this one alone, or which say so, as in --set model.yaml:train.batch_size={batch}. Their keys
// come without that. InputError when that is not clear.
std::vector<Edit> edits_of(const Options& options, const Template& one);
bool is_edited(const Options& options, const Template& one);  // where it is clear

// Its text at a setting.
std::string filled(const Options& options, const Template& one, const trial::Setting& setting);

// InputError for templates and edits that cannot be filled at any setting, or that nobody reads.
void check_templates(const Options& options);

}  // namespace sweetspot::workload::command
