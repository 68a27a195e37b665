#pragma once
#include <string_view>

namespace sweetspot::report {

// The built page of web/, and the hashes of its parts as a policy names them.
extern const std::string_view page_script, page_style;
extern const std::string_view page_script_hash, page_style_hash;

}  // namespace sweetspot::report
