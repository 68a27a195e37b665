#include "report/charts/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "report/markup.h"
#include "report/table.h"

namespace sweetspot::report {
namespace {

constexpr double left_room = 74, right_room = 24, bottom_room = 52, top_room = 20;
constexpr double title_height = 26, legend_height = 24;
constexpr double label_room = 24, tick_gap = 8;  // of the y-axis
// Approximate, since there are no font metrics here: enough to separate the legend's entries, and
// the widest digits.
constexpr double character_width = 7.2, digit_width = 8.3;

// Okabe and Ito's colour-blind safe colours.
constexpr std::array fallbacks{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                               "#e69f00", "#56b4e9", "#6b6b6b"};
constexpr const char* ink = "var(--chart-ink, #333)";
constexpr const char* faint = "var(--chart-faint, #d9d9d9)";

std::string colour(const SvgSeries& series, std::size_t place) {
  const std::size_t at =
      (series.colour > 0 ? static_cast<std::size_t>(series.colour - 1) : place) % fallbacks.size();
  return fmt::format("var(--chart-{}, {})", at + 1, fallbacks[at]);
}

struct Frame {
  double left, right, top, bottom;
};

class Drawing {
 public:
  explicit Drawing(const SvgChart& chart)
      : chart_(chart),
        frame_(frame_of(chart)),
        y_(chart.y, values(true), true, frame_.bottom, frame_.top),
        x_(chart.x, values(false), false, room_for_numbers(), frame_.right) {}

  std::string text() {
    open();
    axes();
    for (const SvgRule& rule : chart_.rules) draw(rule);
    for (std::size_t i = 0; i < chart_.series.size(); ++i)
      draw(chart_.series[i], colour(chart_.series[i], i));
    legend();
    out_ += "</svg>";
    return std::move(out_);
  }

 private:
  static bool has_legend(const SvgChart& chart) {
    return std::ranges::any_of(chart.series, [](const SvgSeries& s) { return !s.name.empty(); });
  }

  static Frame frame_of(const SvgChart& chart) {
    const double head = top_room + (chart.title.empty() ? 0 : title_height) +
                        (has_legend(chart) ? legend_height : 0);
    return {left_room, chart.width - right_room, head, chart.height - bottom_room};
  }

  // Large numbers on the y-axis move its frame, so that they do not overlap its label.
  double room_for_numbers() {
    std::size_t longest = 0;
    for (const double tick : y_.ticks())
      longest = std::max(longest, display_width(words(chart_.y, tick)));
    return frame_.left = std::max(
               frame_.left, label_room + digit_width * static_cast<double>(longest) + tick_gap);
  }

  std::vector<double> values(bool of_y) const {
    std::vector<double> list;
    for (const SvgSeries& series : chart_.series)
      for (const SvgPoint& point : series.points) {
        list.push_back(of_y ? point.y : point.x);
        if (of_y && point.low) list.push_back(*point.low);
        if (of_y && point.high) list.push_back(*point.high);
      }
    for (const SvgRule& rule : chart_.rules)
      if (rule.vertical != of_y) list.push_back(rule.at);
    return list;
  }

  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  void open() {
    const std::string id = escaped_markup(chart_.id);
    put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" role="img" )"
        R"(aria-labelledby="{2}-title {2}-desc" font-family="system-ui, sans-serif" )"
        R"(font-size="13" fill="{3}">)",
        chart_.width, chart_.height, id, ink);
    put(R"(<title id="{0}-title">{1}</title><desc id="{0}-desc">{2}</desc>)", id,
        escaped_markup(chart_.title), escaped_markup(chart_.description));
    if (!chart_.title.empty())
      put(R"(<text x="{}" y="18" font-size="15" font-weight="600">{}</text>)", frame_.left,
          escaped_markup(chart_.title));
  }

  static std::string words(const SvgAxis& axis, double tick) {
    return escaped_markup(axis.words ? axis.words(tick) : number_words(tick));
  }

  void axes() {
    for (const double tick : y_.ticks()) {
      const double y = y_.pixel(tick);
      put(R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="{}"/>)", frame_.left, y, frame_.right, faint);
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", frame_.left - tick_gap,
          y + 4, words(chart_.y, tick));
    }
    for (const double tick : x_.ticks())
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x_.pixel(tick),
          frame_.bottom + 20, words(chart_.x, tick));
    put(R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="{}"/>)", frame_.left, frame_.bottom,
        frame_.right, ink);
    put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
        (frame_.left + frame_.right) / 2, chart_.height - 8.0, escaped_markup(chart_.x.label));
    put(R"svg(<text transform="translate(16 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>)svg",
        (frame_.top + frame_.bottom) / 2, escaped_markup(chart_.y.label));
  }

  void draw(const SvgRule& rule) {
    const SvgScale& scale = rule.vertical ? x_ : y_;
    if (!scale.shows(rule.at)) return;
    const double at = scale.pixel(rule.at);
    const std::string path =
        rule.vertical ? fmt::format("M{:.1f} {:.1f}V{:.1f}", at, frame_.bottom, frame_.top)
                      : fmt::format("M{:.1f} {:.1f}H{:.1f}", frame_.left, at, frame_.right);
    put(R"(<path d="{}" stroke="{}" stroke-dasharray="5 4"/>)", path, ink);
    if (rule.label.empty()) return;
    const double width = character_width * static_cast<double>(display_width(rule.label));
    const bool turn = at + 6 + width > frame_.right;  // stay inside
    if (rule.vertical)
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", at + (turn ? -6 : 6),
          frame_.top + 12, turn ? "end" : "start", escaped_markup(rule.label));
    else
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", frame_.right, at - 6,
          escaped_markup(rule.label));
  }

  // The finite points that are on the chart, in pixels.
  std::vector<SvgPoint> pixels(const SvgSeries& series) const {
    std::vector<SvgPoint> list;
    for (const SvgPoint& point : series.points) {
      if (!x_.shows(point.x) || !y_.shows(point.y)) continue;
      SvgPoint at{x_.pixel(point.x) + series.shift, y_.pixel(point.y)};
      if (point.low && point.high && y_.shows(*point.low) && y_.shows(*point.high))
        at.low = y_.pixel(*point.low), at.high = y_.pixel(*point.high);
      list.push_back(at);
    }
    return list;
  }

  void draw(const SvgSeries& series, const std::string& paint) {
    const std::vector<SvgPoint> list = pixels(series);
    if (list.empty()) return;
    if (series.line && list.size() > 1) {
      std::string path;
      for (const SvgPoint& at : list)
        fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at.x,
                       at.y);
      put(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round"{}/>)",
          path, paint, series.dashed ? R"( stroke-dasharray="6 4")" : "");
    }
    for (const SvgPoint& at : list) {
      if (at.low)
        put(R"(<path d="M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h8M{3:.1f} {2:.1f}h8" )"
            R"(fill="none" stroke="{4}" stroke-width="1.5"/>)",
            at.x, *at.low, *at.high, at.x - 4, paint);
      if (series.marks)
        put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)", at.x, at.y, paint);
    }
  }

  void legend() {
    double x = frame_.left;
    const double y = frame_.top - legend_height + 4;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const SvgSeries& series = chart_.series[i];
      if (series.name.empty()) continue;
      const std::string paint = colour(series, i);
      put(R"(<path d="M{:.1f} {:.1f}h22" stroke="{}" stroke-width="2"{}/>)", x, y - 4, paint,
          series.dashed ? R"( stroke-dasharray="6 4")" : "");
      if (series.marks)
        put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)", x + 11, y - 4, paint);
      put(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 28, y, escaped_markup(series.name));
      x += 28 + character_width * static_cast<double>(display_width(series.name)) + 18;
    }
  }

  const SvgChart& chart_;
  Frame frame_;
  SvgScale y_, x_;
  std::string out_;
};

}  // namespace

std::string svg(const SvgChart& chart) { return Drawing(chart).text(); }

namespace {

constexpr double most_linear_ticks = 6;
constexpr std::size_t most_log_ticks = 9;

// 1, 2 or 5 times a power of ten, so that a span has few of it.
double nice_step(double span) {
  const double rough = span / most_linear_ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

// Powers of two, every second or fourth of them if there are many.
std::vector<double> log_ticks(double from, double to) {
  std::vector<double> ticks;
  for (double factor = 2; ticks.empty() || ticks.size() > most_log_ticks; factor *= 2) {
    ticks.clear();
    const double first = std::ceil(std::log(from) / std::log(factor) - 1e-9);
    for (double tick = std::pow(factor, first); tick <= to * (1 + 1e-9); tick *= factor)
      ticks.push_back(tick);
    if (ticks.empty()) return {from, to};  // none of ours lies between
  }
  return ticks;
}

}  // namespace

SvgScale::SvgScale(const SvgAxis& axis, const std::vector<double>& values, bool from_zero,
                   double low_pixel, double high_pixel)
    : logarithmic_(axis.logarithmic), low_pixel_(low_pixel), high_pixel_(high_pixel) {
  bool any = false;
  for (const double value : values) {
    if (!std::isfinite(value) || (logarithmic_ && value <= 0)) continue;
    from_ = any ? std::min(from_, value) : value;
    to_ = any ? std::max(to_, value) : value;
    any = true;
  }
  if (!any) from_ = logarithmic_ ? 1 : 0, to_ = logarithmic_ ? 10 : 1;
  if (from_zero && !logarithmic_) from_ = std::min(from_, 0.0), to_ = std::max(to_, 0.0);
  if (axis.from) from_ = *axis.from;
  if (axis.to) to_ = *axis.to;
  if (!(from_ < to_)) {  // one value: space on both sides
    const double room = logarithmic_ ? 0 : std::max(1.0, std::abs(from_) / 2);
    to_ = logarithmic_ ? from_ * 2 : from_ + room;
    from_ = logarithmic_ ? from_ / 2 : from_ - room;
  }
  if (!axis.ticks.empty()) {
    ticks_ = axis.ticks;
    std::erase_if(ticks_, [&](double tick) { return !shows(tick); });
    return;
  }
  if (logarithmic_) {
    ticks_ = log_ticks(from_, to_);
    return;
  }
  const double step = nice_step(to_ - from_);
  if (!axis.from && from_zero) from_ = std::floor(from_ / step) * step;
  if (!axis.to && from_zero) to_ = std::ceil(to_ / step) * step;
  for (double i = std::ceil(from_ / step - 1e-9); i * step <= to_ + step * 1e-9; ++i)
    ticks_.push_back(i * step + 0.0);  // no minus sign before a zero
}

double SvgScale::place(double value) const { return logarithmic_ ? std::log(value) : value; }

double SvgScale::pixel(double value) const {
  const double share = (place(value) - place(from_)) / (place(to_) - place(from_));
  return low_pixel_ + share * (high_pixel_ - low_pixel_);
}

bool SvgScale::shows(double value) const {
  const double slack = logarithmic_ ? 0 : (to_ - from_) * 1e-9;
  return std::isfinite(value) && value >= from_ - slack && value <= to_ + slack;
}

}  // namespace sweetspot::report
