#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace sweetspot::probe::cpu {

// In XDG_CACHE_HOME, or .cache of HOME; nothing when there is neither.
std::optional<std::filesystem::path> cache_file(const std::string& name);

// Beside the file and then in its place: readers see the old one or the new one. False when it
// could not be written.
bool write_cache(const std::filesystem::path& file, const std::string& text);

}  // namespace sweetspot::probe::cpu
