// Downloads from a mirror that answers as each test requires.
#include "data/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/https_server.h"
#include "data/support.h"
#include "words.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Download : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::uint8_t>(i * 7);
    server = new HttpsServer;
    server->serve("data", content);
  }
  static void TearDownTestSuite() { delete server; }

  std::string bring(const std::string& how) {
    return download(server->url(how) + "data", file, content.size(),
                    [&](core::Bytes done) { heard.push_back(done); },
                    {std::chrono::seconds(5), std::chrono::seconds(1)});
  }
  Bytes brought() const {
    std::ifstream in(file, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
  }
  // The requests of this test: each has its own server answer.
  std::vector<std::string> requests(const std::string& how) const {
    std::vector<std::string> found;
    for (const std::string& line : server->requests())
      if (line.find("/" + how + "/") != std::string::npos)
        found.push_back(line.substr(line.rfind(' ') + 1));
    return found;
  }

  static inline HttpsServer* server = nullptr;
  static inline Bytes content = Bytes(3500);
  TemporaryFolder folder;
  fs::path file = folder / "part";
  std::vector<core::Bytes> heard;
};

TEST_F(Download, BringsAFileAndTellsOfProgress) {
  EXPECT_EQ(bring("whole"), "");
  EXPECT_EQ(brought(), content);
  EXPECT_THAT(requests("whole"), ElementsAre("-"));
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back(), content.size());
}

TEST_F(Download, GoesOnWhereAPartEnds) {
  write_file(file, Bytes(content.begin(), content.begin() + 1200));
  EXPECT_EQ(bring("redirected"), "");
  EXPECT_EQ(brought(), content);
  EXPECT_THAT(requests("redirected"), ElementsAre("bytes=1200-"));
}

TEST_F(Download, ResumesAMirrorThatBreaksOffAsLongAsItBringsSomething) {
  EXPECT_EQ(bring("broken"), "");
  EXPECT_EQ(brought(), content);
  EXPECT_THAT(requests("broken"), ElementsAre("-", "bytes=1000-", "bytes=2000-", "bytes=3000-"));
}

TEST_F(Download, GivesUpAMirrorThatBreaksOffAndCannotResume) {
  EXPECT_EQ(bring("rangeless"), "does not support resuming a download");
  EXPECT_LT(requests("rangeless").size(), 5u);
}

TEST_F(Download, StartsOverWhereAPartIsTooLong) {
  write_file(file, Bytes(content.size() + 5));
  EXPECT_EQ(bring("whole"), "");
  EXPECT_EQ(brought(), content);
}

TEST_F(Download, AWrongAnswerOfTheRightSizeIsTheCallersToFind) {
  EXPECT_EQ(bring("wrong"), "");
  EXPECT_NE(brought(), content);
}

TEST_F(Download, TakesNoMoreThanThePublishedSize) {
  EXPECT_EQ(bring("oversized"), "offers a file larger than the published one");
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(bring("endless"), "sends more than the 3,500 bytes of the published file");
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(Download, KeepsWhatASlowMirrorSent) {
  EXPECT_EQ(bring("slow"), "sent next to nothing for 1 s");
  EXPECT_EQ(brought(), Bytes(content.begin(), content.begin() + 10));
}

TEST_F(Download, SaysWhyThereIsNothing) {
  EXPECT_EQ(bring("missing"), "answered with status 404");
  EXPECT_EQ(bring("circle"), "redirects without an end");
  EXPECT_EQ(bring("insecure"), "redirects to something else than HTTPS");
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(Download, TrustsNoUnknownCertificate) {
  const ScopedVariable system("SSL_CERT_FILE", std::nullopt);
  EXPECT_THAT(bring("whole"), HasSubstr("certificate"));
  EXPECT_THAT(heard, IsEmpty());
}

TEST_F(Download, AsksTheProxyOfTheEnvironment) {
  const ScopedVariable proxy("https_proxy", server->proxy());
  EXPECT_THAT(download("https://mirror.invalid/data", file, 10, {}), testing::Not(IsEmpty()));
  EXPECT_THAT(server->requests(), testing::Contains(HasSubstr("CONNECT mirror.invalid:443")));
}

TEST_F(Download, SaysThatTheFileCannotBeWritten) {
  EXPECT_WORDS(
      failure_of([&] { download(server->url("whole") + "data", folder / "none/part", 10, {}); }));
}

}  // namespace
}  // namespace sweetspot::data
