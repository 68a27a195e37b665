#pragma once
#include <string>

namespace sweetspot::cli {

const char* commit();         // of the sources, "unknown" outside a checkout
std::string version_line();   // "sweetspot 0.1.0 (45c4932, Release)"
std::string version_text();   // and what it was built with, a line each
std::string licenses_text();  // our licence, and those of what is linked or embedded

}  // namespace sweetspot::cli
