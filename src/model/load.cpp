#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/text.h"
#include "model/keras.h"
#include "model/keras/json.h"
#include "model/zoo/entries.h"

namespace sweetspot::model {
namespace {

const zoo::Entry* find_entry(std::string_view name) {
  for (const zoo::Entry& entry : zoo::entries())
    if (entry.name == name) return &entry;
  return nullptr;
}

// At most one byte beyond what the reader accepts, so that an endless device is refused as too
// large.
std::string read_text(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code status;
  if (!fs::exists(path, status))
    throw core::InputError(
        fmt::format("there is no model '{}': give a Keras JSON file or one of {}",
                    core::printable(path), fmt::join(zoo_names(), ", ")));
  if (fs::is_directory(path, status))
    throw core::InputError(
        fmt::format("{} is a folder; give the Keras JSON file in it", core::printable(path)));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(keras::max_json_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad())
    throw core::InputError(fmt::format("{} cannot be read ({}); give a readable Keras JSON file",
                                       core::printable(path), std::strerror(errno)));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Network load_network(const std::string& name_or_path) {
  if (const zoo::Entry* entry = find_entry(name_or_path))
    return read_keras(entry->json, entry->name);
  return read_keras(read_text(name_or_path), name_or_path);
}

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::entries()) names.emplace_back(entry.name);
  return names;
}

std::string_view zoo_json(std::string_view name) {
  if (const zoo::Entry* entry = find_entry(name)) return entry->json;
  throw core::InputError(fmt::format("there is no zoo model '{}': choose one of {}",
                                     core::printable(name), fmt::join(zoo_names(), ", ")));
}

}  // namespace sweetspot::model
