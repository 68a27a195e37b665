#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "trial/study.h"

namespace sweetspot::cli {

// A study as the user names it: "3", of the store `url`, or "other.db:3", of another one.
struct StudyName {
  std::string url;
  std::int64_t id = 0;
};
StudyName parse_study_name(const std::string& text, const std::string& url);

// With its raw steps; the newest one without a number. InputError when it is not there.
trial::Study stored_study(const std::string& url, std::optional<std::int64_t> id);

}  // namespace sweetspot::cli
