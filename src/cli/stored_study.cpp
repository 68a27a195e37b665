#include "cli/stored_study.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "store/store.h"

namespace sweetspot::cli {

StudyName parse_study_name(const std::string& text, const std::string& url) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {url, core::parse_whole(text, "a study", 1)};
  if (colon == 0)
    throw core::InputError(fmt::format("'{}' names no study; write its number, or FILE:NUMBER",
                                       core::printable(text)));
  return {store::store_url(text.substr(0, colon)),
          core::parse_whole(text.substr(colon + 1), "the study behind the colon", 1)};
}

trial::Study stored_study(const std::string& url, std::optional<std::int64_t> id) {
  const std::unique_ptr<store::Store> store = store::open_store(url);
  if (!id) {
    const std::vector<trial::Study> all = store->studies();
    if (all.empty())
      throw core::InputError(
          fmt::format("no study is in {} yet; sweetspot tune begins one, --db names another store",
                      core::printable(url)));
    id = all.front().id;
  }
  if (std::optional<trial::Study> study = store->study(*id)) return *std::move(study);
  throw core::InputError(fmt::format("there is no study {} in {}; see sweetspot studies list", *id,
                                     core::printable(url)));
}

}  // namespace sweetspot::cli
