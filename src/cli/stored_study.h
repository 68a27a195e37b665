#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "store/store.h"
#include "trial/study.h"

namespace sweetspot::store {
class Store;
}

namespace sweetspot::cli {

// What --name may be: so that it is no number and no FILE:STUDY. InputError otherwise.
std::string parse_study_label(const std::string& text);

// A study as the user names it: "3" or "before", of the store `url`, or "other.db:3", of another
// one.
struct StudyName {
  std::string url, which;
};
StudyName parse_study_name(const std::string& text, const std::string& url);

// The number of a study that is named by it, or by the name that it was given: then the newest one.
// InputError when it is not there.
std::int64_t number_of_study(const store::Store& store, const std::string& url,
                             const std::string& which);

// With its raw steps; the newest one where none is named. InputError when it is not there.
trial::Study stored_study(const std::string& url, const std::optional<std::string>& which);

// The same writer; at its end, a study that has neither a trial nor an answer is removed from the
// store, which must outlive it: a run that came to nothing leaves nothing.
std::unique_ptr<store::Writer> removed_if_empty(store::Store& store,
                                                std::unique_ptr<store::Writer> writer);

}  // namespace sweetspot::cli
