#pragma once
#include <optional>
#include <span>
#include <string>

#include "report/shown_study.h"

namespace sweetspot::report {

// float32, little-endian, as base64: a fifth of the digits of a double.
std::string base64_floats(std::span<const float> values);

// Where a live page gets its study: relative URLs. Events are `study` events with page_data(); the
// raw steps of a trial, page_steps(), are at `steps` followed by its id.
struct Live {
  std::string events, steps;
  std::string studies;  // the list to choose from; empty: only this one
};

// The report as one self-contained file. The recommendation, the headline chart and the trials work
// without scripts; with them, every chart of the page does. With `live`, raw steps are omitted and
// the page listens.
std::string html(ShownStudy study, const std::optional<Live>& live = {});

// The page's Content-Security-Policy: only its own script and style, by their hashes; a live page
// may fetch from its own origin. As a header it should also have frame-ancestors, which a <meta>
// element cannot set.
std::string page_policy(bool live = false);

}  // namespace sweetspot::report
