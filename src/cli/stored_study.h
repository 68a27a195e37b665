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

// Valid values of --name: not a number and not FILE:STUDY. InputError otherwise.
std::string parse_study_label(const std::string& text);

// A study as the user names it: "3" or "before", in the store `url`, or "other.db:3", in another
// one.
struct StudyName {
  std::string url, which;
};
StudyName parse_study_name(const std::string& text, const std::string& url);

// The number of a study, from that number or from its name: then the newest one. InputError if it
// does not exist.
std::int64_t number_of_study(const store::Store& store, const std::string& url,
                             const std::string& which);

// With its raw steps; the newest one if none is named. InputError if it does not exist.
trial::Study stored_study(const std::string& url, const std::optional<std::string>& which);

// The same writer; at its end, a study that has no trial is removed from the
// store, which must outlive it: a run without results leaves nothing.
std::unique_ptr<store::Writer> removed_if_empty(store::Store& store,
                                                std::unique_ptr<store::Writer> writer);

}  // namespace sweetspot::cli
