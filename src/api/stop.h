#pragma once

namespace sweetspot::api {

// What measure() takes for "give this trial up".
constexpr int stop_at_once = 2;

}  // namespace sweetspot::api
