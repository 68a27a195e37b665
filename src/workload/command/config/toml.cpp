#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/config/entries.h"

namespace sweetspot::workload::command::config {
namespace {

class TomlReader {
 public:
  explicit TomlReader(std::string_view text) : text_(text) {
    lines_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') lines_.push_back(i + 1);
  }

  std::vector<Entry> read() {
    try {
      const toml::table table = toml::parse(text_);
      walk(table, {});
    } catch (const toml::parse_error& error) {
      throw core::InputError(fmt::format("line {}: {}", error.source().begin.line,
                                         core::printable(error.description())));
    }
    return std::move(entries_);
  }

 private:
  // The parser counts lines and characters, both from 1.
  std::size_t offset(const toml::source_position& position) const {
    if (position.line == 0 || position.line > lines_.size()) return text_.size();
    std::size_t at = lines_[position.line - 1];
    for (std::size_t left = position.column; left > 1 && at < text_.size(); --left) do
        ++at;
      while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80);
    return at;
  }

  void walk(const toml::node& node, const Path& path) {
    Entry entry{.path = path, .from = offset(node.source().begin), .to = offset(node.source().end)};
    if (const toml::table* table = node.as_table()) {
      entry.kind = Entry::Kind::map;
      entries_.push_back(std::move(entry));
      for (const auto& [key, value] : *table) walk(value, with(path, std::string(key.str())));
    } else if (const toml::array* array = node.as_array()) {
      entry.kind = Entry::Kind::list;
      entries_.push_back(std::move(entry));
      for (std::size_t i = 0; i < array->size(); ++i)
        walk(*array->get(i), with(path, std::to_string(i)));
    } else {
      entry.quoted = node.is_string();
      entry.value = entry.quoted ? node.as_string()->get()
                                 : std::string(text_.substr(entry.from, entry.to - entry.from));
      entries_.push_back(std::move(entry));
    }
  }

  std::string_view text_;
  std::vector<std::size_t> lines_;  // where each begins
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<Entry> toml_entries(std::string_view text) { return TomlReader(text).read(); }

}  // namespace sweetspot::workload::command::config
