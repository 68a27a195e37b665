#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "probe/cpu/pulse.h"

namespace sweetspot::probe::cpu {

// The most that this machine's cores have shown since it was booted: a study that begins while the
// machine is slow would otherwise take that for its speed. Kept in the user's cache, for one boot,
// since a virtual machine may wake up elsewhere.
std::optional<Beat> read_best_speed(const std::filesystem::path& file, const std::string& boot,
                                    int cores);
// False when it could not be written: the next study has to find out by itself.
bool write_best_speed(const std::filesystem::path& file, const std::string& boot, int cores,
                      const Beat& speed);

// The same, of this machine, this boot and the cores that this process may use.
std::optional<Beat> best_speed_so_far();
void remember_best_speed(const Beat& speed);

}  // namespace sweetspot::probe::cpu
