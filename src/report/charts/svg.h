#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sweetspot::report {

// A chart as one <svg> element: for a page, or alone as a file. Pure text without scripts and style
// attributes, so that it works under any policy; colours are CSS variables with fallbacks
// (--chart-1 … --chart-7, --chart-ink, --chart-faint), so that a page can make it dark. Values that
// are not finite are omitted. All text is escaped here.
struct SvgPoint {
  double x = 0, y = 0;
  std::optional<double> low{}, high{};  // of an interval
};

struct SvgSeries {
  std::string name;  // in the legend, unless empty
  std::vector<SvgPoint> points;
  bool line = true, marks = true, dashed = false;
  int colour = 0;    // from 1; 0: the series' index
  double shift = 0;  // to the right, in pixels: intervals at the same x do not overlap
};

struct SvgAxis {
  std::string label;  // with its unit
  bool logarithmic = false;
  std::vector<double> ticks{};                 // instead of nice ones
  std::optional<double> from{}, to{};          // instead of the data's; a linear y-axis begins at 0
  std::function<std::string(double)> words{};  // of a tick; number_words by default
};

// A straight line across, such as a limit.
struct SvgRule {
  double at = 0;
  bool vertical = false;
  std::string label;  // next to it, unless empty
};

struct SvgChart {
  std::string title;        // above the chart, and its accessible name
  std::string description;  // what it shows, in a sentence, for screen readers
  SvgAxis x, y;
  std::vector<SvgSeries> series;
  std::vector<SvgRule> rules{};
  int width = 720, height = 360;
  std::string id = "chart";  // one for each chart of a page
};
std::string svg(const SvgChart& chart);

// Maps values of an axis to pixels, and places its ticks.
class SvgScale {
 public:
  // The pixel of the low end may be the larger one, as on a y-axis. `values` need not be finite.
  SvgScale(const SvgAxis& axis, const std::vector<double>& values, bool from_zero, double low_pixel,
           double high_pixel);
  double pixel(double value) const;
  bool shows(double value) const;  // finite and within
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double place(double value) const;  // on a linear axis
  bool logarithmic_;
  double from_ = 0, to_ = 1, low_pixel_, high_pixel_;
  std::vector<double> ticks_;
};

}  // namespace sweetspot::report
