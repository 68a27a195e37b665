#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "core/units.h"

namespace sweetspot::data {

// Writes what a gzip file holds, at most `most` bytes of it. InputError names what is corrupt or
// too large, MachineError what cannot be written.
void unpack_gzip(const std::filesystem::path& from, const std::filesystem::path& to,
                 core::Bytes most);

// Takes the files of these names (whatever folder of the archive they lie in) and at most these
// sizes out of a tar archive, plain or gzip, into `folder`, and passes over everything else: no
// path of the archive is ever used. Says how many it took.
std::size_t unpack_tar(const std::filesystem::path& archive,
                       const std::map<std::string, core::Bytes>& wanted,
                       const std::filesystem::path& folder);

}  // namespace sweetspot::data
