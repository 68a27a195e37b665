#pragma once
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sweetspot::data {

using Bytes = std::vector<std::uint8_t>;

// A folder of the test's own, removed with all that is in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Sets (or, with nothing, removes) an environment variable until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::optional<std::string>& value);
  ~ScopedVariable();
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

void write_file(const std::filesystem::path& path, const Bytes& bytes);
void write_text(const std::filesystem::path& path, std::string_view text);

// An IDX file of unsigned bytes with these dimensions; the values count up from 0.
Bytes make_idx(const std::vector<std::uint32_t>& shape);
Bytes make_idx(const std::vector<std::uint32_t>& shape, const Bytes& values);
Bytes gzip(const Bytes& bytes);

// The message of the InputError or MachineError that `action` throws, its exit code in front; says
// so when it throws none.
std::string failure_of(const std::function<void()>& action);

}  // namespace sweetspot::data
