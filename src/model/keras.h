#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/network.h"

namespace sweetspot::model {

// Reads model.to_json() of Keras 2 and 3 and model.toJSON() of TF.js. `source` names the text in
// messages (a file's path, or a zoo name). InputError names source, layer and field.
Network read_keras(std::string_view json, std::string_view source);

// A zoo name ("paper-cnn") or the path of a JSON file.
Network load_network(const std::string& name_or_path);
std::vector<std::string> zoo_names();
std::string_view zoo_json(std::string_view name);

}  // namespace sweetspot::model
