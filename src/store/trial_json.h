#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "trial/trial.h"

namespace sweetspot::store {

// Settings and trials as JSON, by the fields of trial_fields.h, and back. What is unknown is
// absent. A value of another type, in a text that we did not write, is unknown.
std::string json_of(const trial::Setting& setting);
std::optional<trial::Setting> setting_of(std::string_view json);
// Without id, raw steps and trace.
std::string json_of(const trial::Trial& trial);
// nullopt if it is no JSON object, or has no outcome: it would seem to have succeeded.
std::optional<trial::Trial> trial_of(std::string_view json);

}  // namespace sweetspot::store
