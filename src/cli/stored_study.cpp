#include "cli/stored_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "report/study_summary.h"
#include "store/store.h"

namespace sweetspot::cli {
namespace {

// Including near misses: for "-1" and "1.5" the error says that they are not study numbers.
bool looks_like_a_number(const std::string& text) {
  return text.find_first_not_of("0123456789+-.") == std::string::npos;
}

}  // namespace

std::string parse_study_label(const std::string& text) {
  constexpr std::size_t longest = 60;
  if (looks_like_a_number(text) || text.size() > longest || text.find(':') != std::string::npos ||
      core::printable(text) != text)
    throw core::InputError(fmt::format(
        "--name '{}' cannot be a study's name; use words of at most {} letters, without "
        "a colon",
        core::printable(text), longest));
  return text;
}

StudyName parse_study_name(const std::string& text, const std::string& url) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {url, text};
  if (colon == 0)
    throw core::InputError(fmt::format("'{}' names no study; write its number, or FILE:NUMBER",
                                       core::printable(text)));
  return {store::store_url(text.substr(0, colon)), text.substr(colon + 1)};
}

std::int64_t number_of_study(const store::Store& store, const std::string& url,
                             const std::string& which) {
  if (looks_like_a_number(which)) return core::parse_whole(which, "the study", 1);
  const std::vector<trial::Study> all = store.studies();  // newest first
  const auto found = std::ranges::find_if(all, [&](const trial::Study& study) {
    return report::study_summary(study.study_key).name == which;
  });
  if (found != all.end()) return found->id;
  throw core::InputError(fmt::format(
      "the study '{0}' is not in {1}, by number or by name; see sweetspot studies list{2}",
      core::printable(which), core::printable(url),
      which.find_first_of("./") == std::string::npos
          ? ""
          : fmt::format(" (a file to write is named by -o: -o {})", core::printable(which))));
}

trial::Study stored_study(const std::string& url, const std::optional<std::string>& which) {
  const std::unique_ptr<store::Store> store = store::open_store(url);
  std::int64_t id = 0;
  if (which) {
    id = number_of_study(*store, url, *which);
  } else {
    const std::vector<trial::Study> all = store->studies();
    if (all.empty())
      throw core::InputError(
          fmt::format("no study is in {} yet; sweetspot tune begins one, --db names another store",
                      core::printable(url)));
    id = all.front().id;
  }
  if (std::optional<trial::Study> study = store->study(id)) return *std::move(study);
  throw core::InputError(fmt::format("there is no study {} in {}; see sweetspot studies list", id,
                                     core::printable(url)));
}

namespace {

class RemovedIfEmpty : public store::Writer {
 public:
  RemovedIfEmpty(store::Store& store, std::unique_ptr<store::Writer> writer)
      : store_(store), writer_(std::move(writer)), is_empty_(writer_->study().trials.empty()) {}

  ~RemovedIfEmpty() override {
    const bool remove = is_empty_;
    const std::int64_t id = writer_->study().id;
    writer_.reset();  // and its lock with it
    if (!remove) return;
    try {
      store_.remove(id);
    } catch (const core::Error&) {  // a remaining empty study does no harm
    }
  }

  const trial::Study& study() const override { return writer_->study(); }
  void save(std::span<trial::Trial> trials) override {
    writer_->save(trials);
    is_empty_ = is_empty_ && trials.empty();
  }
  void amend(const trial::Trial& trial) override { writer_->amend(trial); }
  void set_answer(const std::string& answer) override { writer_->set_answer(answer); }
  void set_end(trial::End end) override { writer_->set_end(end); }
  void set_running(std::int64_t batch) override { writer_->set_running(batch); }

 private:
  store::Store& store_;
  std::unique_ptr<store::Writer> writer_;
  bool is_empty_;
};

}  // namespace

std::unique_ptr<store::Writer> removed_if_empty(store::Store& store,
                                                std::unique_ptr<store::Writer> writer) {
  return std::make_unique<RemovedIfEmpty>(store, std::move(writer));
}

}  // namespace sweetspot::cli
