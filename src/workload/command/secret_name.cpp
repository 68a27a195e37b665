#include <algorithm>
#include <array>
#include <cctype>

#include "workload/command/redact.h"

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
  // PWD is where the shell is.
  if (words.empty() || !any_of(last_words, words.back()) || name == "PWD") return false;
  const std::string before = words.size() > 1 ? words[words.size() - 2] : "";
  return !(words.back() == "token" && any_of(of_tokens, before)) &&
         !(words.back() == "key" && any_of(of_keys, before));
}

}  // namespace sweetspot::workload::command
