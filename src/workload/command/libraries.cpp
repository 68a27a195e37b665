#include "workload/command/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace sweetspot::workload::command {
namespace {

namespace fs = std::filesystem;

// By the imported module; each variable is suggested once.
constexpr std::array<Library, 5> known{{
    {"wandb", "WANDB_MODE", "disabled", "opens a run for each trial"},
    {"transformers", "HF_HUB_OFFLINE", "1", "asks the hub at each start"},
    {"datasets", "HF_HUB_OFFLINE", "1", "asks the hub at each start"},
    {"diffusers", "HF_HUB_OFFLINE", "1", "asks the hub at each start"},
    {"transformers", "TRANSFORMERS_VERBOSITY", "error", "may warn at each start"},
}};

std::string text_of(const fs::path& file) {
  constexpr std::size_t most = 1 << 20;
  std::ifstream in(file, std::ios::binary);
  std::string text(most, '\0');
  in.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

// The scripts named in a command line.
void collect(const fs::path& folder, const std::vector<std::string>& words,
             std::set<fs::path>& scripts, int levels) {
  constexpr std::size_t most_scripts = 50;
  for (std::size_t i = 0; i < words.size() && scripts.size() < most_scripts; ++i) {
    std::string word = words[i];
    if (i > 0 && words[i - 1] == "-m") {
      std::ranges::replace(word, '.', '/');
      word += ".py";
    }
    const fs::path path = folder / word;
    const std::string ending = path.extension().string();
    std::error_code error;
    if ((ending != ".py" && ending != ".sh") || !fs::is_regular_file(path, error)) continue;
    if (!scripts.insert(path).second || ending == ".py" || levels == 0) continue;
    std::istringstream lines(text_of(path));
    std::vector<std::string> inner;
    for (std::string next; lines >> next;) inner.push_back(next);
    collect(folder, inner, scripts, levels - 1);
  }
}

// "import wandb", "from transformers import …", "import os, wandb".
bool imports(const std::string& text, std::string_view module) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || (word != "import" && word != "from")) continue;
    const bool from = word == "from";
    while (words >> word) {
      word = word.substr(0, word.find_first_of(".,;"));
      if (word == module) return true;
      if (from) break;
    }
  }
  return false;
}

template <class Seen>
std::vector<Library> chosen(const Options& options, Seen&& seen) {
  std::vector<Library> found;
  for (const Library& library : known)
    if (!variable(options, std::string(library.variable)) &&
        std::ranges::find(found, library.variable, &Library::variable) == found.end() &&
        seen(library))
      found.push_back(library);
  return found;
}

}  // namespace

std::vector<Library> libraries_seen(const Options& options) {
  std::vector<std::string> words;
  for (const std::string& argument : options.argv) {  // bash -c has several in one
    std::istringstream parts(argument);
    for (std::string part; parts >> part;) words.push_back(part);
  }
  std::set<fs::path> scripts;
  constexpr int levels = 2;  // a script may start another
  collect(options.folder.value_or("."), words, scripts, levels);
  std::string text;
  for (const fs::path& script : scripts) text += text_of(script) + "\n";
  return chosen(options, [&](const Library& library) { return imports(text, library.name); });
}

std::vector<Library> libraries_in_output(std::string_view output, const Options& options) {
  return chosen(options, [&](const Library& library) {
    return library.name == "wandb" && output.find("wandb: ") != std::string_view::npos;
  });
}

std::string suggestion(const Library& library) {
  return fmt::format("{} {} (--env {}={} prevents it)", library.name, library.habit,
                     library.variable, library.value);
}

}  // namespace sweetspot::workload::command
