#pragma once
#include <string>
#include <string_view>

namespace sweetspot::report::tensorboard {

// One TFRecord: the length and its checksum, the bytes and theirs.
std::string record(std::string_view bytes);

}  // namespace sweetspot::report::tensorboard
