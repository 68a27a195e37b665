#pragma once
#include <filesystem>
#include <optional>

#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command::process {

// A mount namespace in which a folder is overlaid: writes go to `upper`. It exists while a
// descriptor or a process holds it.
struct Overlay {
  Descriptor user_namespace;  // none if we may mount without one
  Descriptor mount_namespace;
};
// All paths absolute; `upper` and `work` are on one disk, and empty or as an overlay left them.
// Other disks mounted in the folder stay visible. nullopt if the system does not allow it.
std::optional<Overlay> make_overlay(const std::filesystem::path& folder,
                                    const std::filesystem::path& upper,
                                    const std::filesystem::path& work);

}  // namespace sweetspot::workload::command::process
