#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "core/units.h"

namespace sweetspot::data {

// Inflates a gzip file, at most `most` bytes. InputError names what is corrupt or too large,
// MachineError what cannot be written.
void unpack_gzip(const std::filesystem::path& from, const std::filesystem::path& to,
                 core::Bytes most);

// Extracts the files with these names (from any folder of the archive) and at most these sizes from
// a tar archive, plain or gzip, into `folder`, and skips everything else: no path of the archive is
// ever used. Returns how many it extracted.
std::size_t unpack_tar(const std::filesystem::path& archive,
                       const std::map<std::string, core::Bytes>& wanted,
                       const std::filesystem::path& folder);

}  // namespace sweetspot::data
