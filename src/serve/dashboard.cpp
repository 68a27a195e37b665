#include "serve/dashboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/json_values.h"
#include "core/number.h"
#include "report/html/html.h"
#include "report/html/page_data.h"
#include "report/shown_study.h"
#include "report/study_summary.h"

namespace sweetspot::serve {
namespace {

using http::Request;
using http::Response;
using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;
constexpr std::int64_t newest = 0;  // a topic: no study has this number
// After a stream broke off, a page waits this long before it reconnects.
constexpr const char* stream_opening = "retry: 2000\n\n";

std::string text_of(const Json& json) { return core::json_text(json); }

// A number from the query; nullopt if it is absent.
std::optional<std::int64_t> number(const Request& request, const std::string& name) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return std::nullopt;
  try {
    return core::parse_whole(found->second, name, 1);
  } catch (const core::InputError&) {
    throw http::Refusal{400, "A number has to be a whole one from 1."};
  }
}

void allow_only(const Request& request, const std::set<std::string>& names) {
  for (const auto& [name, value] : request.query)
    if (name != "token" && !names.contains(name))
      throw http::Refusal{400, "A parameter is not of this page."};
}

const trial::Study* find(const std::vector<trial::Study>& studies, std::int64_t topic) {
  const auto found = std::find_if(studies.begin(), studies.end(), [&](const trial::Study& study) {
    return topic == newest || study.id == topic;  // they are newest first
  });
  return found == studies.end() ? nullptr : &*found;
}

// Shown before the first study begins.
trial::Study no_study() {
  trial::Study study;
  study.study_key = {"no study yet", "{}"};
  study.environment.json = "{}";
  return study;
}

Response json_response(const Json& json) {
  Response response;
  response.type = http::json_text;
  response.body = http::bytes(text_of(json));
  return response;
}

Response no_such(std::string_view what) {
  return http::sentence(404, fmt::format("There is no such {} in this store.", what));
}

}  // namespace

Dashboard::Dashboard(const store::Store& store, std::string token)
    : store_(store), token_(std::move(token)) {}

Response Dashboard::respond(const Request& request) {
  try {
    if (request.path == "/") return page(request);
    if (request.path == "/events") return events(request);
    if (request.path == "/steps") return steps(request);
    if (request.path == "/studies") return list(request);
  } catch (const http::Refusal& refusal) {
    return http::sentence(refusal.status, refusal.sentence);
  }
  return no_such("page");
}

Response Dashboard::page(const Request& request) {
  allow_only(request, {"study"});
  const std::int64_t topic = number(request, "study").value_or(newest);
  const std::vector<trial::Study> studies = store_.studies();
  const trial::Study* study = find(studies, topic);
  if (!study && topic != newest) return no_such("study");
  // Relative, so that the page works behind any address.
  const std::string token = token_.empty() ? "" : fmt::format("token={}&", token_);
  report::Live live;
  live.events = fmt::format("events?{}", token);
  if (topic != newest) live.events += fmt::format("study={}", topic);
  if (live.events.back() == '&' || live.events.back() == '?') live.events.pop_back();
  live.steps = fmt::format("steps?{}trial=", token);
  live.studies = token_.empty() ? "studies" : fmt::format("studies?token={}", token_);
  Response response;
  response.type = http::html_text;
  response.policy = report::page_policy(true);
  response.body = http::bytes(report::html(report::shown_study(study ? *study : no_study()), live));
  return response;
}

Response Dashboard::events(const Request& request) {
  allow_only(request, {"study"});
  Response response;
  response.topic = number(request, "study").value_or(newest);
  refresh();
  if (problem_.empty() && *response.topic != newest && !find(studies_, *response.topic))
    return no_such("study");  // and the page stops asking
  response.body = http::bytes(stream_opening);
  return response;
}

Response Dashboard::steps(const Request& request) {
  allow_only(request, {"trial"});
  const auto id = number(request, "trial");
  const auto trial = id ? store_.trial(*id) : std::nullopt;
  return trial ? json_response(report::page_steps(*trial)) : no_such("trial");
}

Response Dashboard::list(const Request& request) {
  allow_only(request, {});
  Json json{{"schema_version", schema_version}, {"studies", Json::array()}};
  const auto said = [](const std::string& text) { return core::unless_empty(text); };
  for (const trial::Study& study : store_.studies()) {
    const report::StudySummary asked = report::study_summary(study.study_key);
    json["studies"].push_back({{"study", std::to_string(study.id)},
                               {"name", said(asked.name)},
                               {"goal", said(asked.goal)},
                               {"limit", said(asked.limit)},
                               {"workload", asked.what},
                               {"state", state_name(study.end)},
                               {"trial_count", study.trials.size()},
                               {"started_at_unix_seconds", study.started_at}});
  }
  return json_response(json);
}

bool Dashboard::refresh() {
  const bool had_problem = !std::exchange(problem_, {}).empty();
  try {
    if (!follower_) follower_ = store_.follow();
    if (!follower_->changed() && !had_problem) return false;
    studies_ = store_.studies();
  } catch (const core::Error& error) {
    problem_ = error.what();
  }
  events_.clear();
  return true;
}

http::Event Dashboard::current(std::int64_t topic) {
  const auto found = events_.find(topic);
  return found != events_.end() ? found->second : events_.emplace(topic, read(topic)).first->second;
}

http::Event Dashboard::read(std::int64_t topic) {
  if (!problem_.empty()) return http::event("problem", text_of(Json{{"message", problem_}}));
  const trial::Study* study = find(studies_, topic);
  if (study || topic == newest)
    return http::event(
        "study", text_of(report::page_data(report::shown_study(study ? *study : no_study()))));
  http::Event gone = http::event("gone", "{}");
  gone.is_last = true;
  return gone;
}

}  // namespace sweetspot::serve
