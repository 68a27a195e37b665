#pragma once

namespace sweetspot::report::paper {

// The page's style; the chart's colours are the variables that svg() reads.
extern const char* const page_style;

}  // namespace sweetspot::report::paper
