#pragma once
#include <filesystem>
#include <memory>

#include "store/store.h"

namespace sweetspot::store::sqlite {

std::unique_ptr<Writer> open_writer(const std::filesystem::path& file,
                                    const trial::Question& question,
                                    const trial::Environment& environment, bool fresh);

// MachineError that names the process which writes this study.
[[noreturn]] void fail_locked(const std::filesystem::path& file, std::int64_t study,
                              std::optional<std::int64_t> pid);

}  // namespace sweetspot::store::sqlite
