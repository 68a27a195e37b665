#pragma once
#include <string>
#include <string_view>

#include "model/network.h"

namespace sweetspot::model {

std::string fixture(std::string_view path);  // below tests/fixtures

// A Sequential model of these layers (comma-separated JSON) after an InputLayer of this shape.
std::string sequential(std::string_view layers, std::string_view shape = "[null, 8, 8, 2]");
// {"class_name": …, "config": {"name": "it", …}}: the layer under test is called "it".
std::string layer(std::string_view class_name, std::string_view config = "");

// Everything the reader decided, except the network's name: equal texts are equal networks.
std::string describe(const Network& network);

// The message of the InputError that reading this text as "net.json" throws.
std::string refusal(std::string_view json);

}  // namespace sweetspot::model
