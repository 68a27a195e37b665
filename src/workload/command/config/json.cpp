#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "workload/command/config/entries.h"

namespace sweetspot::workload::command::config {
namespace {

// Reports how far the parser has read, which the parser does not.
struct CountedCharacter {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** furthest = nullptr;

  reference operator*() const { return *at; }
  CountedCharacter& operator++() {
    *furthest = ++at;
    return *this;
  }
  CountedCharacter operator++(int) {
    CountedCharacter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountedCharacter& other) const { return at == other.at; }
};

// Receives the parser's events. A value begins after what was read before it, skipping blanks,
// commas, colons and comments.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text), furthest_(text.data()) {}

  std::vector<Entry> read() {
    nlohmann::json::sax_parse(CountedCharacter{text_.data(), &furthest_},
                              CountedCharacter{text_.data() + text_.size(), &furthest_}, this,
                              nlohmann::json::input_format_t::json, true, true);
    return std::move(entries_);
  }

  bool null() { return scalar("null", read_to()); }
  bool boolean(bool value) { return scalar(value ? "true" : "false", read_to()); }
  bool number_integer(nlohmann::json::number_integer_t) { return number(); }
  bool number_unsigned(nlohmann::json::number_unsigned_t) { return number(); }
  bool number_float(nlohmann::json::number_float_t, const std::string&) { return number(); }
  bool string(std::string& value) {
    scalar(value, read_to());
    entries_.back().quoted = true;
    return true;
  }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool key(std::string& name) {
    open_.back().key = name;
    before_ = read_to();
    return true;
  }
  bool start_object(std::size_t) { return start(Entry::Kind::map); }
  bool start_array(std::size_t) { return start(Entry::Kind::list); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) {
    const std::string_view read = text_.substr(0, at);
    throw core::InputError(fmt::format("line {}: it is no JSON from here on",
                                       1 + std::count(read.begin(), read.end(), '\n')));
  }

 private:
  struct Open {
    std::size_t entry;
    std::string key = {};
    std::size_t index = 0;
  };

  std::size_t read_to() const { return static_cast<std::size_t>(furthest_ - text_.data()); }

  std::size_t value_start() const {
    std::size_t at = before_;
    while (at < text_.size()) {
      if (std::string_view(" \t\r\n:,").find(text_[at]) != std::string_view::npos)
        ++at;
      else if (text_.substr(at).starts_with("//"))
        at = std::min(text_.find('\n', at), text_.size());
      else if (text_.substr(at).starts_with("/*"))
        at = std::min(text_.find("*/", at), text_.size() - 2) + 2;
      else
        break;
    }
    return at;
  }

  std::vector<std::string> path() {
    std::vector<std::string> keys;
    for (Open& open : open_)
      keys.push_back(entries_[open.entry].kind == Entry::Kind::map ? open.key
                                                                   : std::to_string(open.index));
    return keys;
  }

  // A number ends with the next character, which has been read.
  bool number() {
    const std::size_t from = value_start();
    const std::size_t to = std::min(text_.find_first_not_of("+-.0123456789eE", from), text_.size());
    return scalar(std::string(text_.substr(from, to - from)), to);
  }

  bool scalar(std::string value, std::size_t to) {
    Entry entry{.path = path(), .from = value_start(), .to = to, .value = std::move(value)};
    entries_.push_back(std::move(entry));
    return passed(to);
  }

  bool start(Entry::Kind kind) {
    if (open_.size() > deepest)
      throw core::InputError(fmt::format("it is nested more than {} levels deep", deepest));
    const std::size_t from = value_start();
    entries_.push_back({.path = path(), .kind = kind, .from = from, .to = from + 1});
    open_.push_back({entries_.size() - 1});
    before_ = read_to();
    return true;
  }

  bool end() {
    const std::size_t to = read_to();
    entries_[open_.back().entry].to = to;
    open_.pop_back();
    return passed(to);
  }

  bool passed(std::size_t to) {
    before_ = to;
    if (!open_.empty()) ++open_.back().index;
    return true;
  }

  std::string_view text_;
  const char* furthest_;
  std::size_t before_ = 0;  // the end of what was read before
  std::vector<Entry> entries_;
  std::vector<Open> open_;
};

}  // namespace

std::vector<Entry> json_entries(std::string_view text) { return JsonReader(text).read(); }

}  // namespace sweetspot::workload::command::config
