#include "workload/native/weights_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::workload::native {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t most_header_bytes = 16 * core::MiB;
constexpr int deepest_level = 3;  // the header, a tensor, its shape

struct Tensor {
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

class Reader {
 public:
  explicit Reader(const fs::path& file) : file_(file) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) refuse("does not exist; check --load");
    if (!fs::is_regular_file(file, ignored)) refuse("is not a file; check --load");
    size_ = fs::file_size(file, ignored);
    in_.open(file, std::ios::binary);
    if (!in_) refuse("cannot be read; check its permissions");
    read_header();
  }

  std::vector<float> values(const engine::Variable& variable) {
    const std::string& name = variable.parameter.name;
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      refuse(fmt::format("has no {}: it belongs to another model", name));
    const Tensor& tensor = found->second;
    if (tensor.shape != variable.parameter.shape)
      refuse(fmt::format(
          "has {} in the shape ({}) where the model has ({}): it belongs to another model", name,
          fmt::join(tensor.shape, ", "), fmt::join(variable.parameter.shape, ", ")));
    std::vector<float> numbers(static_cast<std::size_t>(variable.parameter.size()));
    if (numbers.size() * sizeof(float) != tensor.end - tensor.begin)
      refuse(fmt::format("gives {} another size than its shape", name));
    in_.seekg(static_cast<std::streamoff>(data_start_ + tensor.begin));
    in_.read(reinterpret_cast<char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    if (!in_) refuse(fmt::format("ends within {}", name));
    tensors_.erase(found);
    return numbers;
  }

  void expect_no_more() const {
    if (!tensors_.empty())
      refuse(fmt::format("has {}, which the model does not have: it belongs to another model",
                         core::printable(tensors_.begin()->first)));
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw core::InputError(
        fmt::format("the weights file {} {}", core::printable(file_.string()), why));
  }

  void read_header() {
    std::uint64_t length = 0;
    in_.read(reinterpret_cast<char*>(&length), sizeof length);
    if (!in_ || length > most_header_bytes || length > size_ - sizeof length)
      refuse("is not a safetensors file: the length of its header makes no sense");
    std::string text(length, '\0');
    in_.read(text.data(), static_cast<std::streamsize>(length));
    if (!in_) refuse("ends within its header");
    data_start_ = sizeof length + length;
    const Json header = parse(text);
    for (const auto& [name, entry] : header.items())
      if (name != "__metadata__") tensors_[name] = tensor(name, entry);
    check_layout();
  }

  Json parse(const std::string& text) const {
    std::set<std::string> names;
    const auto strict = [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth > deepest_level) refuse("has a header that is nested too deeply");
      if (event == Json::parse_event_t::key && depth == 1 &&
          !names.insert(value.get<std::string>()).second)
        refuse("has a tensor twice in its header");
      return true;
    };
    Json header;
    try {
      header = Json::parse(text, strict);
    } catch (const Json::exception&) {
      refuse("has a header that is not JSON");
    }
    if (!header.is_object()) refuse("has a header that is no JSON object");
    return header;
  }

  Tensor tensor(const std::string& name, const Json& entry) const {
    const std::string shown = core::printable(name);
    try {
      if (const auto type = entry.at("dtype").get<std::string>(); type != "F32")
        refuse(fmt::format("has {} as {} where sweetspot reads F32", shown, core::printable(type)));
      const Json& offsets = entry.at("data_offsets");
      for (const Json* list : {&offsets, &entry.at("shape")})
        if (!list->is_array() || !std::all_of(list->begin(), list->end(), [](const Json& number) {
              return number.is_number_unsigned();
            }))
          refuse(fmt::format("has no valid shape or offsets for {}", shown));
      if (offsets.size() != 2) refuse(fmt::format("has no pair of offsets for {}", shown));
      return {entry.at("shape").get<std::vector<std::int64_t>>(), offsets[0], offsets[1]};
    } catch (const Json::exception&) {
      refuse(fmt::format("lacks a dtype, shape or data_offsets for {}", shown));
    }
  }

  // Contiguous, without gaps or overlaps, up to the end of the file.
  void check_layout() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
    for (const auto& [name, tensor] : tensors_) spans.emplace_back(tensor.begin, tensor.end);
    std::sort(spans.begin(), spans.end());
    std::uint64_t at = 0;
    for (const auto& [begin, end] : spans) {
      if (begin != at || end < begin) refuse("has tensors that overlap or leave gaps");
      at = end;
    }
    if (at != size_ - data_start_) refuse("is truncated or has bytes after its last tensor");
  }

  const fs::path& file_;
  std::ifstream in_;
  std::uint64_t size_ = 0, data_start_ = 0;
  std::map<std::string, Tensor> tensors_;
};

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little,
              "safetensors holds little-endian numbers");

// safetensors readers expect the numbers to begin at a multiple of eight.
constexpr std::size_t header_alignment = 8;

std::string header_of(std::string_view model, std::span<const engine::Variable> variables) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "keras"}, {"model", model}};
  std::size_t offset = 0;
  for (const engine::Variable& variable : variables) {
    const std::size_t end = offset + variable.values.size() * sizeof(float);
    header[variable.parameter.name] = {
        {"dtype", "F32"}, {"shape", variable.parameter.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  // A name that is not UTF-8 must not stop a run at its end.
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((header_alignment - text.size() % header_alignment) % header_alignment, ' ');
  return text;
}

[[noreturn]] void fail(const fs::path& file, int error) {
  throw core::MachineError(
      fmt::format("{} could not be written ({}); free space or pass another --save",
                  core::printable(file.string()), std::strerror(error)));
}

// A descriptor that closes itself.
class File {
 public:
  File(const fs::path& path, int flags, const fs::path& shown)
      : shown_(shown), descriptor_(::open(path.c_str(), flags, 0666)) {
    if (descriptor_ < 0) fail(shown, errno);
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const void* data, std::size_t size) {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
      const ssize_t written = ::write(descriptor_, at, size);
      if (written < 0 && errno != EINTR) fail(shown_, errno);
      if (written > 0) at += written, size -= static_cast<std::size_t>(written);
    }
  }
  void sync() {
    // EINVAL: a pipe or a device, which has nothing to sync.
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail(shown_, errno);
  }

 private:
  const fs::path& shown_;  // the file that was asked for, not its temporary name
  int descriptor_;
};

void write_to(const fs::path& path, int flags, const fs::path& shown, std::string_view model,
              std::span<const engine::Variable> variables) {
  const std::string header = header_of(model, variables);
  const std::uint64_t length = header.size();
  File out(path, flags, shown);
  out.write(&length, sizeof length);
  out.write(header.data(), header.size());
  for (const engine::Variable& variable : variables)
    out.write(variable.values.data(), variable.values.size() * sizeof(float));
  out.sync();
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace

void check_can_load(const fs::path& file) { Reader{file}; }

std::vector<engine::Variable> load_weights(const fs::path& file,
                                           std::vector<engine::Variable> variables) {
  Reader reader(file);
  for (engine::Variable& variable : variables) variable.values = reader.values(variable);
  reader.expect_no_more();
  return variables;
}

void check_can_save(const fs::path& file) {
  std::error_code ignored;
  const std::string shown = core::printable(file.string());
  const fs::path folder = folder_of(file);
  if (file.empty() || !file.has_filename() || fs::is_directory(file, ignored))
    throw core::InputError(fmt::format("--save '{}' is a folder; pass the name of a file", shown));
  if (!fs::is_directory(folder, ignored))
    throw core::InputError(
        fmt::format("--save {} needs the folder {}, which does not exist; make it first", shown,
                    core::printable(folder.string())));
  if (::access(folder.c_str(), W_OK) != 0) fail(file, errno);
}

void save_weights(const fs::path& asked, std::string_view model,
                  std::span<const engine::Variable> variables) {
  std::error_code ignored;
  // Through a link to what it points at, so that the link stays.
  const fs::path file =
      fs::is_symlink(asked, ignored) ? fs::weakly_canonical(asked, ignored) : asked;
  // A device or a pipe is written to: it must not be replaced by a file.
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
    return write_to(file, O_WRONLY | O_CLOEXEC, asked, model, variables);

  const fs::path temporary = fmt::format("{}.{}.part", file.string(), ::getpid());
  try {
    write_to(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, asked, model, variables);
    if (::rename(temporary.c_str(), file.c_str()) != 0) fail(asked, errno);
  } catch (...) {
    fs::remove(temporary, ignored);
    throw;
  }
  File(folder_of(file), O_RDONLY | O_DIRECTORY | O_CLOEXEC, asked).sync();
}

}  // namespace sweetspot::workload::native
