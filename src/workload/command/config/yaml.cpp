#include <fmt/format.h>
#include <yaml.h>

#include <map>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/config/entries.h"

namespace sweetspot::workload::command::config {
namespace {

std::string text_of(const yaml_char_t* text) {
  return text ? reinterpret_cast<const char*>(text) : "";
}

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) starts_.push_back(i);
    starts_.push_back(text.size());
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const yaml_char_t*>(text.data()),
                                 text.size());
  }
  ~YamlReader() { yaml_parser_delete(&parser_); }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  // The first document: programs read one.
  std::vector<Entry> read() {
    while (true) {
      const Event event = next();
      if (event->type == YAML_STREAM_END_EVENT) return std::move(entries_);
      if (event->type == YAML_DOCUMENT_START_EVENT) {
        node(next(), {});
        return std::move(entries_);
      }
    }
  }

 private:
  struct Delete {
    void operator()(yaml_event_t* event) const {
      yaml_event_delete(event);
      delete event;
    }
  };
  using Event = std::unique_ptr<yaml_event_t, Delete>;

  Event next() {
    Event event(new yaml_event_t{});
    if (!yaml_parser_parse(&parser_, event.get()))
      throw core::InputError(
          fmt::format("line {}: {}", parser_.problem_mark.line + 1,
                      core::printable(parser_.problem ? parser_.problem : "it cannot be read")));
    return event;
  }

  // The parser counts characters.
  std::size_t offset(const yaml_mark_t& mark) const {
    return starts_[std::min(mark.index, starts_.size() - 1)];
  }

  // Anchor and tag precede a value, in either order.
  std::size_t behind_properties(std::size_t at) const {
    while (at < text_.size() && (text_[at] == '&' || text_[at] == '!')) {
      while (at < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at]))) ++at;
      while (at < text_.size() && std::isspace(static_cast<unsigned char>(text_[at]))) ++at;
    }
    return at;
  }

  void node(const Event& event, const Path& path) {
    if (path.size() > deepest)
      throw core::InputError(fmt::format("it is nested more than {} levels deep", deepest));
    Entry entry;
    entry.path = path;
    entry.from = offset(event->start_mark), entry.to = offset(event->end_mark);
    const std::size_t at = entries_.size();
    switch (event->type) {
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event->data.scalar;
        entry.value.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        entry.anchor = text_of(scalar.anchor);
        if (scalar.anchor || scalar.tag) entry.from = behind_properties(entry.from);
        entry.quoted = scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                       scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
        entry.block =
            scalar.style == YAML_LITERAL_SCALAR_STYLE || scalar.style == YAML_FOLDED_SCALAR_STYLE;
        break;
      }
      case YAML_ALIAS_EVENT: {
        entry.alias = text_of(event->data.alias.anchor);
        entry.kind = kinds_[entry.alias];
        break;
      }
      case YAML_SEQUENCE_START_EVENT:
        entry.kind = Entry::Kind::list;
        entry.anchor = text_of(event->data.sequence_start.anchor);
        break;
      default:
        entry.kind = Entry::Kind::map;
        entry.anchor = text_of(event->data.mapping_start.anchor);
    }
    if (!entry.anchor.empty()) kinds_[entry.anchor] = entry.kind;
    entries_.push_back(std::move(entry));
    if (event->type == YAML_SEQUENCE_START_EVENT) list(path);
    if (event->type == YAML_MAPPING_START_EVENT) map(path);
    if (event->type == YAML_SCALAR_EVENT || event->type == YAML_ALIAS_EVENT) return;
    entries_[at].to = end_;
  }

  void list(const Path& path) {
    for (std::size_t i = 0;; ++i) {
      const Event event = next();
      end_ = offset(event->end_mark);
      if (event->type == YAML_SEQUENCE_END_EVENT) return;
      node(event, with(path, std::to_string(i)));
    }
  }

  void map(const Path& path) {
    while (true) {
      const Event key = next();
      end_ = offset(key->end_mark);
      if (key->type == YAML_MAPPING_END_EVENT) return;
      std::string name;
      if (key->type == YAML_SCALAR_EVENT) {
        name = text_of(key->data.scalar.value);
      } else {  // a key that is a list or a map has no writable name
        const std::size_t known = entries_.size();
        node(key, with(path, ""));
        entries_.resize(known);
      }
      node(next(), with(path, name));
    }
  }

  std::string_view text_;
  std::vector<std::size_t> starts_;  // of each character
  yaml_parser_t parser_{};
  std::vector<Entry> entries_;
  std::map<std::string, Entry::Kind> kinds_;  // of what an anchor precedes
  std::size_t end_ = 0;
};

}  // namespace

std::vector<Entry> yaml_entries(std::string_view text) { return YamlReader(text).read(); }

}  // namespace sweetspot::workload::command::config
