#pragma once
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "temporary_folder.h"

namespace sweetspot::data {

using Bytes = std::vector<std::uint8_t>;
using tests::TemporaryFolder;

// Sets (or, with nullopt, removes) an environment variable until the end of the scope.
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

// The message of the InputError or MachineError that `action` throws, preceded by its exit code;
// says so if it throws none.
std::string failure_of(const std::function<void()>& action);

}  // namespace sweetspot::data
