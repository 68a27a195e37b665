// A store as pages and events.
#include "serve/dashboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "serve/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

trial::Trial trial_of(std::int64_t batch) {
  trial::Trial trial;
  trial.setting.batch = batch;
  trial.samples_per_second = {100.0 * static_cast<double>(batch), 90, 110};
  trial.raw = {{0.5, batch, 1, {}, true, false}, {0.25, batch, 1, {}, false, true}};
  trial.note = "</script><script>alert(1)</script>";
  return trial;
}

class DashboardTest : public testing::Test {
 protected:
  std::unique_ptr<store::Writer> write(const std::string& key) {
    return store_->open_study({"paper-cnn on mnist", key}, {"sweetspot", "a CPU", "{}"}, false);
  }
  http::Response get(const std::string& path, std::map<std::string, std::string> query = {}) {
    http::Request request;
    request.method = "GET";
    request.path = path;
    request.query = std::move(query);
    return dashboard_.respond(request);
  }
  static void save(store::Writer& writer, trial::Trial trial) { writer.save({&trial, 1}); }
  // The data of a study's page now.
  Json current(std::int64_t topic) {
    dashboard_.refresh();
    const std::string text = *dashboard_.current(topic).bytes;
    EXPECT_THAT(text, AllOf(testing::StartsWith("event: study\n"), testing::EndsWith("\n\n")));
    const std::size_t data = text.find("data: ") + 6;
    EXPECT_EQ(text.find('\n', data), text.size() - 2) << "more than one line";
    return Json::parse(text.substr(data));
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "a.db";
  std::unique_ptr<store::Store> store_ = store::open_store(file_.string());
  serve::Dashboard dashboard_{*store_, "secret"};
};

TEST_F(DashboardTest, ThePageIsOfTheStudyAskedFor) {
  save(*write("1"), trial_of(8));
  save(*write("2"), trial_of(16));
  const http::Response one = get("/", {{"study", "1"}, {"token", "secret"}}), newest = get("/");
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(one.type, http::html_text);
  EXPECT_THAT(one.policy, AllOf(HasSubstr("default-src 'none'"), HasSubstr("sha256-"),
                                HasSubstr("connect-src 'self'"), Not(HasSubstr("unsafe"))));
  EXPECT_NE(one.body->find("\"events\":\"events?token=secret&study=1\""), std::string::npos);
  EXPECT_NE(one.body->find("\"steps\":\"steps?token=secret&trial=\""), std::string::npos);
  EXPECT_NE(one.body->find("study 1"), std::string::npos);
  EXPECT_EQ(one.body->find("<script>alert"), std::string::npos);
  EXPECT_NE(newest.body->find("\"events\":\"events?token=secret\""), std::string::npos);
  EXPECT_NE(newest.body->find("study 2"), std::string::npos);
}

TEST_F(DashboardTest, WithoutATokenNoneIsHandedOn) {
  write("1");
  serve::Dashboard open(*store_, "");
  http::Request request;
  request.path = "/";
  const http::Response response = open.respond(request);
  EXPECT_NE(response.body->find("\"events\":\"events\""), std::string::npos);
  EXPECT_NE(response.body->find("\"steps\":\"steps?trial=\""), std::string::npos);
}

TEST_F(DashboardTest, ShowsAPageBeforeTheFirstStudyAndThenThatStudy) {
  EXPECT_EQ(get("/").status, 200);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "it made a file";
  EXPECT_EQ(current(0)["trials"].size(), 0u);
  const auto writer = write("1");
  EXPECT_EQ(current(0)["study"], "1");
  save(*writer, trial_of(8));
  const Json study = current(0);
  EXPECT_EQ(study["trials"].size(), 1u);
  EXPECT_EQ(study["status"], "running");
  write("2");
  EXPECT_EQ(current(0)["study"], "2") << "the newest is another now";
  EXPECT_EQ(current(1)["study"], "1");
}

TEST_F(DashboardTest, TellsOfChangesOnly) {
  auto writer = write("1");
  EXPECT_TRUE(dashboard_.refresh());
  const std::string id = dashboard_.current(1).id;
  EXPECT_FALSE(dashboard_.refresh());
  EXPECT_EQ(dashboard_.current(1).id, id);
  save(*writer, trial_of(8));
  EXPECT_TRUE(dashboard_.refresh());
  EXPECT_NE(dashboard_.current(1).id, id);
  writer.reset();
  EXPECT_EQ(current(1)["status"], "stopped");
}

TEST_F(DashboardTest, EventsHaveNoRawStepsWhichAreAskedForByTrial) {
  save(*write("1"), trial_of(8));
  const Json trial = current(1)["trials"][0];
  EXPECT_TRUE(trial["raw_steps"].is_null());
  const http::Response steps = get("/steps", {{"trial", std::to_string(trial["id"].get<int>())}});
  EXPECT_EQ(steps.type, http::json_text);
  const Json json = Json::parse(*steps.body);
  EXPECT_EQ(json["warm_up"], Json::parse("[[0, 1]]"));
  EXPECT_EQ(json["outliers"], Json::parse("[1]"));
}

TEST_F(DashboardTest, ListsTheStudies) {
  save(*write("1"), trial_of(8));
  write("2");
  const Json studies = Json::parse(*get("/studies").body)["studies"];
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[1]["study"], "1");
  EXPECT_EQ(studies[1]["state"], "stopped");
  EXPECT_EQ(studies[1]["trial_count"], 1);
  for (const char* key : {"name", "goal", "limit"}) EXPECT_TRUE(studies[1].contains(key)) << key;
}

TEST_F(DashboardTest, RefusesWhatThereIsNot) {
  save(*write("1"), trial_of(8));
  EXPECT_EQ(get("/", {{"study", "2"}}).status, 404);
  EXPECT_EQ(get("/events", {{"study", "2"}}).status, 404);
  EXPECT_EQ(get("/steps", {{"trial", "2"}}).status, 404);
  EXPECT_EQ(get("/steps").status, 404);
  EXPECT_EQ(get("/sweetspot.db").status, 404);
  for (const char* number : {"0", "-1", "1x", "99999999999999999999", "01x"})
    EXPECT_EQ(get("/", {{"study", number}}).status, 400) << number;
  EXPECT_EQ(get("/", {{"trial", "1"}}).status, 400);
  EXPECT_EQ(get("/studies", {{"study", "1"}}).status, 400);
}

TEST_F(DashboardTest, ATrialIsToldWhileItRuns) {
  const auto writer = write("1");
  writer->set_running(512);
  dashboard_.refresh();
  EXPECT_THAT(*dashboard_.current(1).bytes, testing::HasSubstr("\"running\":{\"batch\":512,"));
  save(*writer, trial_of(512));
  dashboard_.refresh();
  EXPECT_THAT(*dashboard_.current(1).bytes, testing::HasSubstr("\"running\":null"));
}

TEST_F(DashboardTest, AStudyThatIsDeletedEndsItsStream) {
  write("1");
  EXPECT_EQ(get("/events", {{"study", "1"}}).topic, 1);
  store_->remove(1);
  dashboard_.refresh();
  const http::Event event = dashboard_.current(1);
  EXPECT_TRUE(event.is_last);
  EXPECT_THAT(*event.bytes, testing::StartsWith("event: gone\n"));
}

TEST_F(DashboardTest, AStoreThatCannotBeReadIsAProblemThatMayPass) {
  std::ofstream(file_) << std::string(5000, 'x');
  dashboard_.refresh();
  EXPECT_THAT(*dashboard_.current(0).bytes,
              AllOf(testing::StartsWith("event: problem\n"), HasSubstr("not a database")));
  std::filesystem::remove(file_);
  write("1");
  EXPECT_EQ(current(0)["study"], "1");
}

}  // namespace
}  // namespace sweetspot::tests
