// Which requests are answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "serve/http/access_token.h"
#include "serve/http/listener.h"
#include "serve/support.h"

namespace sweetspot::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const http::Access access{{"127.0.0.1:80", "localhost:80"}, "secret"};

http::Request good() {
  http::Request request;
  request.method = "GET";
  request.path = "/";
  request.host = "localhost:80";
  request.query["token"] = "secret";
  return request;
}

int status(const http::Request& request) {
  FakeSite site;
  return http::answer(request, access, site).status;
}

TEST(Access, IsForTheTokenUnderOurNames) {
  EXPECT_EQ(status(good()), 200);
  http::Request request = good();
  request.host = "127.0.0.1:80";
  request.method = "HEAD";
  EXPECT_EQ(status(request), 200);
}

TEST(Access, IsNotForOtherNames) {
  for (const char* host : {"", "evil.example", "evil.example:80", "localhost", "localhost:81",
                           "localhost:80.", "localhost.:80", "127.0.0.1:080", "[::1]:80",
                           "localhost:80,evil.example", "user@localhost:80", "0.0.0.0:80"}) {
    http::Request request = good();
    request.host = host;
    EXPECT_EQ(status(request), 421) << host;
  }
}

TEST(Access, IsNotForOtherTokens) {
  http::Request request = good();
  request.query.clear();
  EXPECT_EQ(status(request), 403);
  for (const char* token : {"", "secre", "secret1", "Secret", "tecres"}) {
    request.query["token"] = token;
    EXPECT_EQ(status(request), 403) << token;
  }
}

TEST(Access, IsForReadingOnly) {
  for (const char* method :
       {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "X"}) {
    http::Request request = good();
    request.method = method;
    EXPECT_EQ(status(request), 405) << method;
  }
  http::Request request = good();
  request.has_body = true;
  EXPECT_EQ(status(request), 413);
}

TEST(Access, IsNotForOtherPages) {
  http::Request request = good();
  request.fetch_mode = "no-cors";
  for (const char* site : {"cross-site", "same-site"}) {
    request.fetch_site = site;
    EXPECT_EQ(status(request), 403) << site;
  }
  for (const char* site : {"same-origin", "none"}) {
    request.fetch_site = site;
    EXPECT_EQ(status(request), 200) << site;
  }
  request.fetch_site = "cross-site";
  request.fetch_mode = "navigate";  // a link that was followed
  EXPECT_EQ(status(request), 200);
}

TEST(Access, TheIconThatBrowsersAskForNeedsNoTokenButTheName) {
  http::Request request = good();
  request.query.clear();
  request.path = "/favicon.ico";
  EXPECT_EQ(status(request), 204);
  request.host = "evil.example";
  EXPECT_EQ(status(request), 421);
}

TEST(Access, WhatTheSiteThrowsIsAnAnswer) {
  http::Request request = good();
  request.path = "/broken";
  EXPECT_EQ(status(request), 500);
}

TEST(Token, IsLongPlainAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string token = http::random_token();
    EXPECT_EQ(token.size(), 43u);
    EXPECT_EQ(
        token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        std::string::npos);
    EXPECT_TRUE(seen.insert(token).second);
  }
}

TEST(Listener, TellsTheLoopbackFromTheRest) {
  for (const char* address : {"127.0.0.1", "127.8.9.1", "::1", "localhost"})
    EXPECT_TRUE(http::is_loopback(address)) << address;
  for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::ffff:127.0.0.1"})
    EXPECT_FALSE(http::is_loopback(address)) << address;
  for (const char* address : {"", "example.org", "127.1", "localhost.", "1.2.3.4.5", "[::1]"})
    EXPECT_THROW(http::is_loopback(address), core::InputError) << address;
}

TEST(Listener, KnowsItsNames) {
  const http::Listener loopback = http::listen({});
  EXPECT_THAT(loopback.host, testing::StartsWith("127.0.0.1:"));
  const std::string port = loopback.host.substr(loopback.host.find(':'));
  EXPECT_THAT(loopback.hosts, testing::ElementsAre("127.0.0.1" + port, "localhost" + port));
  const http::Listener every = http::listen({"0.0.0.0", 0});
  const std::string other = every.host.substr(every.host.rfind(':'));
  EXPECT_THAT(every.hosts, AllOf(Contains("127.0.0.1" + other), Contains("localhost" + other),
                                 Not(Contains("0.0.0.0" + other))));
}

TEST(Listener, SaysWhyAPlaceCannotBeTaken) {
  const http::Listener taken = http::listen({});
  const auto port = static_cast<std::uint16_t>(std::stoi(taken.host.substr(10)));
  try {
    http::listen({"127.0.0.1", port});
    FAIL();
  } catch (const core::MachineError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("in use"), HasSubstr("--port 0")));
  }
  EXPECT_THROW(http::listen({"192.0.2.1", 0}), core::InputError);  // for documentation: nobody's
}

}  // namespace
}  // namespace sweetspot::tests
