#pragma once
#include <filesystem>
#include <optional>
#include <string_view>

namespace sweetspot::store::sqlite {

// "NFS" for the number by which the kernel tells file systems apart (statfs(2)); nothing for those
// of this machine, and for those that are not known.
std::optional<std::string_view> network_file_system(unsigned long type);

// InputError for a file on one: locks and shared memory, which SQLite's log needs, are not kept
// there between machines, and a database comes to harm without a word.
void check_local(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
