#pragma once
#include <optional>
#include <span>
#include <string>

#include "report/answer.h"

namespace sweetspot::report {

// float32, little-endian, as base64: a fifth of what the digits of a double take.
std::string base64_floats(std::span<const float> values);

// Where a live page hears of its study: relative URLs. Events are `study` events with page_data();
// the raw steps of a trial, page_steps(), are at `steps` followed by its id.
struct Live {
  std::string events, steps;
  std::string studies;  // which there are to choose from; empty: this one only
};

// The report as one file that needs nothing else. The recommendation, the headline chart and the
// trials show with scripts off; with them, every chart of the page does. With `live`, raw steps are
// left out and the page listens.
std::string html(Answer answer, const std::optional<Live>& live = {});

// The page's Content-Security-Policy: nothing but its own script and style, by their hashes; a live
// page may fetch from where it came. As a header it should say frame-ancestors too, which a <meta>
// element cannot.
std::string page_policy(bool live = false);

}  // namespace sweetspot::report
