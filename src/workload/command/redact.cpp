#include "workload/command/redact.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/text.h"

namespace sweetspot::workload::command {
namespace {

template <std::size_t Count>
bool any_of(const std::array<std::string_view, Count>& names, std::string_view word) {
  return std::ranges::find(names, word) != names.end();
}

constexpr std::array<std::string_view, 4> within_a_word{"password", "passwd", "secret",
                                                        "credential"};
constexpr std::array<std::string_view, 2> whole_words{"passphrase", "apikey"};
constexpr std::array<std::string_view, 5> last_words{"key", "token", "pass", "pwd", "auth"};

// A tokenizer's tokens, and the keys of a data set's columns.
constexpr std::array<std::string_view, 12> of_tokens{
    "pad", "eos", "bos", "unk", "mask", "sep", "cls", "stop", "per", "end", "start", "special"};
constexpr std::array<std::string_view, 9> of_keys{"label",  "sort",   "image",  "text",   "input",
                                                  "output", "target", "column", "feature"};

// "--hf_apiToken" → hf, api, token
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool in_word = false, after_small_letter = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool alphanumeric = std::isalnum(byte) != 0;
    if (alphanumeric && (!in_word || (after_small_letter && std::isupper(byte))))
      words.emplace_back();
    if (alphanumeric) words.back() += static_cast<char>(std::tolower(byte));
    in_word = alphanumeric;
    after_small_letter = std::islower(byte) != 0;
  }
  return words;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  for (const std::string& word : words) {
    if (any_of(whole_words, word)) return true;
    for (const std::string_view part : within_a_word)
      if (word.find(part) != std::string::npos) return true;
  }
  // PWD is the working directory.
  if (words.empty() || !any_of(last_words, words.back()) || name == "PWD") return false;
  const std::string before = words.size() > 1 ? words[words.size() - 2] : "";
  return !(words.back() == "token" && any_of(of_tokens, before)) &&
         !(words.back() == "key" && any_of(of_keys, before));
}

namespace {

constexpr std::string_view mask = "[redacted]";
using Found = std::vector<std::string>;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

bool is_number(std::string_view value) {
  return !value.empty() && value.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_secret(std::string_view name, std::string_view value) {
  if (value.empty() || !is_secret_name(name)) return false;
  return !is_number(value) || std::ranges::none_of(last_words, [&](std::string_view word) {
    return core::lower(name).ends_with(word);
  });
}

// The end of a value from `at`: the closing quotation mark if it is quoted, else the end of the
// word.
std::size_t value_end(std::string_view text, std::size_t at, std::string_view also_ends) {
  if (at < text.size() && (text[at] == '\'' || text[at] == '"')) {
    const std::size_t close = text.find(text[at], at + 1);
    return close == std::string_view::npos ? text.size() : close + 1;
  }
  while (at < text.size() && !is_space(text[at]) &&
         also_ends.find(text[at]) == std::string_view::npos)
    ++at;
  return at;
}

void replace(std::string& text, std::size_t from, std::size_t to, Found& found) {
  if (from >= to) return;
  std::string value = text.substr(from, to - from);
  if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"'))
    value = value.substr(1, value.size() - 2);
  if (value != mask) found.push_back(std::move(value));
  text.replace(from, to - from, mask);
}

// user:password@ in a URL, and a lone name before http's @, which is usually a token.
void redact_users(std::string& text, Found& found) {
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    const bool web = text.substr(0, at).ends_with("http") || text.substr(0, at).ends_with("https");
    at += 3;
    const std::size_t end = std::min(text.find_first_of("/?# \t\n'\"", at), text.size());
    const std::size_t sign = text.rfind('@', end - 1);
    if (end == at || sign == std::string::npos || sign < at) continue;
    const std::size_t colon = text.find(':', at);
    if (colon < sign)
      replace(text, colon + 1, sign, found);
    else if (web && text.compare(at, sign - at, "git") != 0)
      replace(text, at, sign, found);
  }
}

// NAME=value anywhere: in a shell line, in a URL, among a program's overrides.
void redact_assignments(std::string& text, Found& found) {
  for (std::size_t at = 0; (at = text.find('=', at)) != std::string::npos; ++at) {
    std::size_t name = at;
    while (name > 0 && is_name_character(text[name - 1])) --name;
    const std::size_t end = value_end(text, at + 1, "&;|'\"");
    const std::string_view view(text);
    if (is_secret(view.substr(name, at - name), view.substr(at + 1, end - at - 1)))
      replace(text, at + 1, end, found);
  }
}

bool names_the_next(std::string_view word, std::string_view next) {
  if (word == "Bearer" || word.ends_with(" Bearer")) return true;
  return word.starts_with('-') && word.find('=') == std::string_view::npos &&
         !next.starts_with("--") && is_secret(word, next);
}

// --name value and Bearer value, in a line of words.
void redact_next_words(std::string& text, Found& found) {
  std::string before;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = value_end(text, at, "");
    if (names_the_next(before, std::string_view(text).substr(at, end - at))) {
      replace(text, at, end, found);
      end = at + mask.size();
      before.clear();
    } else {
      before = text.substr(at, end - at);
    }
    at = std::max(end, at + 1);
  }
}

std::string redact_text(std::string text, Found& found) {
  redact_users(text, found);
  redact_assignments(text, found);
  redact_next_words(text, found);
  return text;
}

std::string redact_argument(const std::string& argument, Found& found) {
  const std::size_t sign = argument.find('=');
  const bool assignment =
      sign != std::string::npos &&
      std::all_of(argument.begin(), argument.begin() + static_cast<long>(sign), is_name_character);
  if (!assignment || !is_secret(argument.substr(0, sign), argument.substr(sign + 1)))
    return redact_text(argument, found);
  std::string out = argument;
  replace(out, sign + 1, out.size(), found);
  return out;
}

std::vector<std::string> redact_argv(std::vector<std::string> argv, Found& found) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (i > 0 && names_the_next(argv[i - 1], argv[i]))
      replace(argv[i], 0, argv[i].size(), found);
    else
      argv[i] = redact_argument(argv[i], found);
  }
  return argv;
}

Environment redact_environment(Environment environment, Found& found) {
  for (auto& [name, value] : environment) {
    if (is_secret(name, value))
      replace(value, 0, value.size(), found);
    else
      value = redact_text(value, found);
  }
  return environment;
}

Environment our_environment() {
  Environment ours;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::size_t sign = text.find('=');
    if (sign != std::string_view::npos)
      ours.emplace_back(text.substr(0, sign), text.substr(sign + 1));
  }
  return ours;
}

}  // namespace

std::vector<std::string> redacted(const std::vector<std::string>& argv) {
  Found found;
  return redact_argv(argv, found);
}

std::string redacted(std::string_view text) {
  Found found;
  return redact_text(std::string(text), found);
}

Environment redacted(Environment environment) {
  Found found;
  return redact_environment(std::move(environment), found);
}

Secrets::Secrets(const Options& options) {
  redact_argv(options.argv, values_);
  redact_environment(options.environment, values_);
  for (const auto& hook : {options.setup, options.prepare, options.conclude, options.cleanup})
    if (hook) redact_text(*hook, values_);
  for (const Edit& edit : options.edits) redact_text(edit.key + "=" + edit.value, values_);
  redact_environment(our_environment(), values_);
  // Shorter ones would match by chance in the middle of words.
  constexpr std::size_t shortest = 4;
  std::erase_if(values_, [](const std::string& value) { return value.size() < shortest; });
  std::ranges::sort(values_, [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::string Secrets::redact(std::string text) const {
  for (const std::string& value : values_)
    for (std::size_t at = 0; (at = text.find(value, at)) != std::string::npos; at += mask.size())
      text.replace(at, value.size(), mask);
  return redacted(text);
}

}  // namespace sweetspot::workload::command
