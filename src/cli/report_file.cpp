#include "cli/report_file.h"

#include <fmt/format.h>

namespace sweetspot::cli {

std::filesystem::path report_file(const std::string& store_url, const std::string& study) {
  constexpr std::string_view scheme = "sqlite:";
  const std::filesystem::path file =
      store_url.starts_with(scheme) ? store_url.substr(scheme.size()) : store_url;
  return file.parent_path() / fmt::format("sweetspot-study-{}.html", study);
}

}  // namespace sweetspot::cli
