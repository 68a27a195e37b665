#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/buffer.h"

namespace sweetspot::cli {

// An object that begins with the version of its form.
nlohmann::ordered_json result_object();

// Unknown is null, never 0.
nlohmann::ordered_json or_null(const std::optional<double>& value);
nlohmann::ordered_json or_null(const std::optional<std::int64_t>& value);
nlohmann::ordered_json or_null(const std::optional<core::Bytes>& value);
nlohmann::ordered_json or_null(const std::optional<std::string>& value);

constexpr core::Use uses[] = {core::Use::weights,     core::Use::gradients, core::Use::optimizer,
                              core::Use::activations, core::Use::workspace, core::Use::input};

}  // namespace sweetspot::cli
