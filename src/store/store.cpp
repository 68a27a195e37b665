#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/error.h"
#include "core/text.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"

namespace sweetspot::store {
namespace {

// "postgresql" of "postgresql://host/db"; a path has no scheme, including "C:" and "a:b".
std::string_view scheme_of(std::string_view url) {
  const std::size_t end = url.find("://");
  return end == std::string_view::npos ? "" : url.substr(0, end);
}

}  // namespace

bool is_postgres(std::string_view url) {
  return scheme_of(url) == "postgresql" || scheme_of(url) == "postgres";
}

std::unique_ptr<Store> open_store(const std::string& url) {
  constexpr std::string_view prefix = "sqlite:";
  const bool prefixed = url.starts_with(prefix);
  if (is_postgres(url)) return postgres::open(url);
  if (!prefixed && !scheme_of(url).empty())
    throw core::InputError(
        fmt::format("the database '{}' is of a kind that is not known; pass --db sqlite:PATH or "
                    "postgresql://HOST/DATABASE",
                    core::printable(url)));
  const std::string path = prefixed ? url.substr(prefix.size()) : url;
  if (path.empty())
    throw core::InputError(fmt::format("the database '{}' names no file; pass --db sqlite:PATH",
                                       core::printable(url)));
  return sqlite::open(path);
}

std::string store_url(const std::optional<std::string>& asked) {
  if (asked) return *asked;
  const char* variable = std::getenv("SWEETSPOT_DB");
  return variable && *variable ? variable : "sqlite:sweetspot.db";
}

namespace {

constexpr std::array<std::string_view, 4> endings{"running", "finished", "lost", "given_back"};

}  // namespace

std::vector<trial::Setting> missing(std::span<const trial::Setting> wanted,
                                    std::span<const trial::Setting> has) {
  std::vector<trial::Setting> left(has.begin(), has.end()), found;
  for (const trial::Setting& setting : wanted) {
    const auto there = std::ranges::find(left, setting);
    if (there == left.end())
      found.push_back(setting);
    else
      left.erase(there);
  }
  return found;
}

trial::Trial lost_trial(const trial::Setting& setting, int times, const std::string& host,
                        std::int64_t pid) {
  trial::Trial trial;
  trial.setting = setting;
  trial.outcome = trial::Outcome::killed;
  trial.note = fmt::format("its process was lost {}, the last on {} (pid {})",
                           times == 1 ? "once" : fmt::format("{} times", times), host, pid);
  return trial;
}

std::string_view name(Attempt::Ending ending) { return endings[static_cast<std::size_t>(ending)]; }

std::optional<Attempt::Ending> ending_named(std::string_view text) {
  const auto found = std::ranges::find(endings, text);
  if (found == endings.end()) return std::nullopt;
  return static_cast<Attempt::Ending>(found - endings.begin());
}

}  // namespace sweetspot::store
