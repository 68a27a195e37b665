#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace sweetspot::store {

// What the queues of all stores agree on.

// Of the settings that are wanted, each as often as it stands there, those that are not among
// `has`.
std::vector<trial::Setting> missing(std::span<const trial::Setting> wanted,
                                    std::span<const trial::Setting> has);

// What is kept of a setting whose processes were lost so many times, the last of them this one.
trial::Trial lost_trial(const trial::Setting& setting, int times, const std::string& host,
                        std::int64_t pid);

std::string_view name(Attempt::Ending ending);
std::optional<Attempt::Ending> ending_named(std::string_view text);

}  // namespace sweetspot::store
